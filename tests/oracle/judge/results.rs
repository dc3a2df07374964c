//! A file with the values that programs gave on one engine.
//!
//! All numbers are u64, little-endian. A text (UTF-8) and bytes are preceded by their length. A digest is the first
//! eight bytes of a BLAKE3 hash.
//!
//! | part | content |
//! |---|---|
//! | begin | the bytes `lxlaval1`; the random seed, the number of programs, the name of the engine |
//! | each run | number of the program, round, digest of its text, 1 if the engine agreed with native results or else 0, number of values |
//! | each value of the run | text of the type, digest of the native bytes, bytes on the engine |

use crate::program::{Run, Seen};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Error, ErrorKind, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 8] = b"lxlaval1";

/// First bytes of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    pub seed: u64,
    pub programs: u64,
    pub engine: String,
}

/// A run that a file has.
pub struct Kept {
    pub program: u64,
    pub round: u64,
    /// Digest of the program's text.
    pub text: u64,
    pub agreed: bool,
    pub values: Vec<KeptValue>,
}

/// A value that a file has.
pub struct KeptValue {
    pub ty: String,
    /// Digest of the native bytes.
    pub native: u64,
    /// Bytes on the engine.
    pub lazy: Vec<u8>,
}

pub fn digest(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(blake3::hash(bytes).as_bytes()[..8].try_into().expect("8 bytes"))
}

/// Writes a file.
pub struct Writer(BufWriter<File>);

impl Writer {
    pub fn create(path: &Path, header: &Header) -> io::Result<Writer> {
        let mut writer = Writer(BufWriter::new(File::create(path)?));
        writer.0.write_all(MAGIC)?;
        writer.number(header.seed)?;
        writer.number(header.programs)?;
        writer.bytes(header.engine.as_bytes())?;
        writer.0.flush()?;
        Ok(writer)
    }

    /// Writes a run. It is in the file when this returns, whatever a later program does to the process.
    pub fn write(&mut self, run: &Run, values: &[Seen]) -> io::Result<()> {
        let agreed = u64::from(run.outcome.is_ok());
        for number in [run.program, run.round, digest(run.text.as_bytes()), agreed, values.len() as u64] {
            self.number(number)?;
        }
        for seen in values {
            self.bytes(seen.ty.to_string().as_bytes())?;
            self.number(digest(&seen.native))?;
            self.bytes(&seen.lazy)?;
        }
        self.0.flush()
    }

    fn number(&mut self, number: u64) -> io::Result<()> {
        self.0.write_all(&number.to_le_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.number(bytes.len() as u64)?;
        self.0.write_all(bytes)
    }
}

/// Reads a file.
pub struct Reader(BufReader<File>);

impl Reader {
    /// Opens a file and reads its begin.
    pub fn open(path: &Path) -> io::Result<(Reader, Header)> {
        let mut reader = Reader(BufReader::new(File::open(path)?));
        let mut magic = [0; 8];
        reader.0.read_exact(&mut magic)?;
        if magic != *MAGIC {
            return Err(Error::new(ErrorKind::InvalidData, "it is not a file of values"));
        }
        let (seed, programs) = (reader.number()?, reader.number()?);
        let engine = reader.text()?;
        Ok((reader, Header { seed, programs, engine }))
    }

    /// Returns the next run; None at the end of the file, or if the rest is not a whole run.
    pub fn next_run(&mut self) -> io::Result<Option<Kept>> {
        match self.run() {
            Ok(kept) => Ok(Some(kept)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn run(&mut self) -> io::Result<Kept> {
        let (program, round, text) = (self.number()?, self.number()?, self.number()?);
        let agreed = self.number()? == 1;
        let mut values = Vec::new();
        for _ in 0..self.number()? {
            values.push(KeptValue { ty: self.text()?, native: self.number()?, lazy: self.bytes()? });
        }
        Ok(Kept { program, round, text, agreed, values })
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let length = self.number()?;
        let mut bytes = Vec::new();
        // The vector grows as bytes arrive, so that a wrong length does not exhaust the memory.
        self.0.by_ref().take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    fn text(&mut self) -> io::Result<String> {
        String::from_utf8(self.bytes()?).map_err(|error| Error::new(ErrorKind::InvalidData, error))
    }
}

#[test]
fn a_file_has_the_runs_that_were_written_and_ends_where_it_is_cut() {
    use base::types::{DType, TensorType};

    let folder = crate::Folder::new("values");
    let path = folder.0.join("file");
    let header = || Header { seed: 3, programs: 2, engine: "e".to_string() };
    let run = |program, outcome| Run { program, round: 1, text: format!("text {program}"), outcome };
    let seen =
        || Seen { ty: TensorType::new(DType::U8, &[3]), native: vec![1, 2, 3], lazy: vec![4, 5, 6], errors: None };
    let mut writer = Writer::create(&path, &header()).unwrap();
    writer.write(&run(0, Ok(())), &[]).unwrap();
    writer.write(&run(1, Err("wrong".to_string())), &[seen(), seen()]).unwrap();

    let (mut reader, found) = Reader::open(&path).unwrap();
    assert_eq!(found, header());
    let first = reader.next_run().unwrap().unwrap();
    assert_eq!((first.program, first.round, first.text, first.agreed), (0, 1, digest(b"text 0"), true));
    assert!(first.values.is_empty());
    let second = reader.next_run().unwrap().unwrap();
    assert_eq!((second.program, second.agreed, second.values.len()), (1, false, 2));
    let last = &second.values[1];
    assert_eq!((last.ty.as_str(), last.native, &last.lazy[..]), ("u8[3]", digest(&[1, 2, 3]), &[4, 5, 6][..]));
    assert!(reader.next_run().unwrap().is_none());

    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let (mut reader, _) = Reader::open(&path).unwrap();
    assert!(reader.next_run().unwrap().is_some());
    assert!(reader.next_run().unwrap().is_none());
}
