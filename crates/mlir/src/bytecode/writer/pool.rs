//! What a file refers to: strings, attributes, types, names of operations and properties, each stored once.

use super::words::{Table, Word};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::hash::Hash;
use std::rc::Rc;

/// An attribute or type.
#[derive(PartialEq, Eq, Hash)]
pub struct Entry {
    /// Index of its dialect.
    pub dialect: u32,
    /// Whether it has an encoding of its dialect; otherwise it is text.
    pub encoded: bool,
    /// Its content.
    pub words: Vec<Word>,
}

/// The name of an operation.
#[derive(PartialEq, Eq, Hash)]
pub struct Name {
    /// Index of its dialect.
    pub dialect: u32,
    /// Index of the string of its name in the dialect.
    pub string: u32,
}

/// Things that are equal have one number.
pub struct Numbered<T> {
    numbers: FxHashMap<Rc<T>, u32>,
    /// The things by their numbers.
    pub items: Vec<Rc<T>>,
    /// How often each was asked for.
    uses: Vec<u32>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered { numbers: FxHashMap::default(), items: Vec::new(), uses: Vec::new() }
    }
}

impl<T: Hash + Eq> Numbered<T> {
    /// Returns the number of a thing.
    pub fn number(&mut self, item: T) -> u32 {
        let number = match self.numbers.get(&item) {
            Some(&number) => number,
            None => {
                let (item, number) = (Rc::new(item), self.items.len() as u32);
                self.numbers.insert(item.clone(), number);
                self.items.push(item);
                self.uses.push(0);
                number
            }
        };
        self.uses[number as usize] += 1;
        number
    }

    /// Returns the numbers in the order in which the things are stored: by dialect, those that are used most often
    /// first, as small indices take fewer bytes.
    fn order(&self, dialect: impl Fn(&T) -> u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.items.len() as u32).collect();
        order.sort_by_key(|&i| (dialect(&self.items[i as usize]), Reverse(self.uses[i as usize])));
        order
    }
}

/// All that a file refers to.
#[derive(Default)]
pub struct Pool {
    /// Dialects: the strings of their names.
    pub dialects: Numbered<u32>,
    pub strings: Numbered<Box<[u8]>>,
    pub attributes: Numbered<Entry>,
    pub types: Numbered<Entry>,
    pub names: Numbered<Name>,
    pub properties: Numbered<Vec<Word>>,
}

impl Pool {
    /// Returns the number of a dialect.
    pub fn dialect(&mut self, name: &str) -> u32 {
        let string = self.strings.number(name.as_bytes().into());
        self.dialects.number(string)
    }
}

/// The orders in which things are stored, and the places of their numbers in it.
pub struct Orders {
    pub attributes: Vec<u32>,
    pub types: Vec<u32>,
    pub names: Vec<u32>,
    places: [Vec<u32>; 3],
}

impl Orders {
    /// Decides the orders.
    pub fn of(pool: &Pool) -> Orders {
        let attributes = pool.attributes.order(|entry| entry.dialect);
        let types = pool.types.order(|entry| entry.dialect);
        let names = pool.names.order(|name| name.dialect);
        let places = [&attributes, &types, &names].map(|order| {
            let mut places = vec![0; order.len()];
            order.iter().enumerate().for_each(|(place, &number)| places[number as usize] = place as u32);
            places
        });
        Orders { attributes, types, names, places }
    }

    /// Returns the index that stands in the file for a number.
    pub fn place(&self, table: Table, number: u32) -> u64 {
        let places = match table {
            Table::Attributes => &self.places[0],
            Table::Types => &self.places[1],
            Table::Names => &self.places[2],
            Table::Strings | Table::Properties => return number.into(),
        };
        places[number as usize].into()
    }
}
