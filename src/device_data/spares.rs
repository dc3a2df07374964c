//! Reuse of device data. A repeated step makes as many data as it frees, all at once, which is slow in most allocators.

use super::{DeviceData, Origin, State};
use base::types::TensorType;
use engine::Buffer;
use std::sync::Arc;

/// Device data to which nothing else refers, without content, kept for the results of the next sync.
#[derive(Default)]
pub struct Spares {
    data: Vec<Arc<DeviceData>>,
    /// Maximum number of data that are kept.
    limit: usize,
}

impl Spares {
    /// Returns data that the sync with number `step` is computing.
    pub fn computed(
        &mut self,
        ty: TensorType,
        step: u64,
        serial: u64,
        origin: (Arc<Origin>, usize),
    ) -> Arc<DeviceData> {
        let data = DeviceData { origin: Some(origin), ..DeviceData::with(ty, State::InFlight(step), serial) };
        let Some(mut spare) = self.data.pop() else { return Arc::new(data) };
        *Arc::get_mut(&mut spare).expect("nothing else refers to spare data") = data;
        spare
    }

    /// Changes the limit after a sync with this number of results: it rises to that number at once, and falls by an
    /// eighth at most, so that a small sync between large ones does not free most of the data.
    pub fn adapt(&mut self, results: usize) {
        self.limit = results.max(self.limit - self.limit.div_ceil(8));
        self.data.truncate(self.limit);
    }

    /// Keeps data without content, if there is room.
    #[inline]
    pub fn add(&mut self, spare: Spare) {
        if self.data.len() < self.limit {
            self.data.push(spare.0);
        }
    }
}

/// Device data without content, to which nothing else refers.
pub struct Spare(Arc<DeviceData>);

impl DeviceData {
    /// Takes data that has a buffer apart, if nothing else refers to it: returns the object and the buffer. Otherwise
    /// drops the reference.
    pub fn retire(mut data: Arc<DeviceData>) -> Option<(Spare, Arc<dyn Buffer>)> {
        let own = Arc::get_mut(&mut data)?;
        let buffer = own.buffer.take()?;
        own.origin = None;
        own.stated = Default::default();
        Some((Spare(data), buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::{Error, Result};
    use base::types::DType;
    use engine::HostCopy;
    use std::any::Any;

    /// A buffer that is never read.
    struct Unread(TensorType);

    impl Buffer for Unread {
        fn tensor_type(&self) -> &TensorType {
            &self.0
        }

        fn device(&self) -> usize {
            0
        }

        fn is_deleted(&self) -> bool {
            false
        }

        fn failure(&self) -> Option<Error> {
            None
        }

        fn read(&self, _: &mut [u8]) -> Result<()> {
            unreachable!()
        }

        fn start_host_copy(self: Arc<Self>) -> Result<Box<dyn HostCopy>> {
            unreachable!()
        }

        fn copy_to_device(&self, _: usize) -> Result<Arc<dyn Buffer>> {
            unreachable!()
        }

        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    fn ty(size: i64) -> TensorType {
        TensorType::new(DType::F32, &[size])
    }

    fn origin() -> Arc<Origin> {
        Arc::new(Origin { name: Arc::new("step 1"), runs: Vec::new(), scheme: None, first_serial: 0 })
    }

    #[test]
    fn only_data_without_other_references_is_used_again() {
        let (mut spares, origin) = (Spares::default(), origin());
        spares.adapt(1);
        let first = spares.computed(ty(2), 1, 7, (origin.clone(), 0));
        first.set_buffer(Arc::new(Unread(ty(2))));
        let other = first.clone();
        assert!(DeviceData::retire(first).is_none());
        drop(other.hold());
        other.tensors.add();
        let address = Arc::as_ptr(&other);
        let (spare, buffer) = DeviceData::retire(other).unwrap();
        assert_eq!((buffer.tensor_type(), Arc::strong_count(&origin)), (&ty(2), 1));
        spares.add(spare);
        let again = spares.computed(ty(3), 2, 9, (origin, 4));
        assert_eq!((Arc::as_ptr(&again), again.ty(), again.serial()), (address, &ty(3), 9));
        assert_eq!((again.tensors.get(), again.is_held(), again.is_in_flight()), (0, false, true));
        assert!(!again.has_memory() && again.buffer().is_err());
        assert_eq!(again.origin().unwrap().1, 4);
    }

    #[test]
    fn no_more_than_the_limit_is_kept() {
        let mut spares = Spares::default();
        let add = |spares: &mut Spares| {
            let (spare, _) = DeviceData::retire(DeviceData::ready(Arc::new(Unread(ty(1))))).unwrap();
            spares.add(spare);
        };
        add(&mut spares);
        assert_eq!(spares.data.len(), 0);
        spares.adapt(3);
        (0..5).for_each(|_| add(&mut spares));
        assert_eq!(spares.data.len(), 3);
        spares.adapt(1);
        assert_eq!(spares.data.len(), 2);
        (0..5).for_each(|_| spares.adapt(0));
        assert_eq!(spares.data.len(), 0);
    }
}
