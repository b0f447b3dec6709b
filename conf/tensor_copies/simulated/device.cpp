// A second device for PyTorch whose memory is host memory: the backend "PrivateUse1".
//
// PyTorch has everything that happens between two devices: dispatch, autograd, where
// results go, what is refused and in which words. A backend brings what is listed
// here: memory, a device, random numbers, the few operators that make or view memory.
// Every other operator runs on the CPU (`at::native::cpu_fallback`), between a copy to
// the host and a copy back.
//
// What lives as long as the process is made with `new` and never deleted: tensors and
// PyTorch's backward thread may outlive the static objects of a library.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/GeneratorForPrivateuseone.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/fill_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <ATen/record_function.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/alloc_cpu.h>
#include <torch/library.h>
#include <torch/version.h>

#include <chrono>
#include <map>
#include <mutex>

namespace {

const c10::Device here(c10::kPrivateUse1, 0);
const c10::Device host(c10::kCPU);

// ---- Memory -------------------------------------------------------------------------

// What has been handed out, in bytes. CUDA's allocator hands out multiples of 512.
struct Ledger {
  std::mutex mutex;
  std::map<const char*, size_t> blocks;  // the bytes asked for, by first address
  int64_t now = 0, peak = 0, rounding;

  explicit Ledger(int64_t rounding) : rounding(rounding) {}

  int64_t rounded(size_t bytes) const {
    return (bytes + rounding - 1) / rounding * rounding;
  }
  void* allocate(size_t bytes) {
    auto* block = static_cast<char*>(c10::alloc_cpu(bytes));
    if (block) {
      std::lock_guard<std::mutex> lock(mutex);
      blocks[block] = bytes;
      now += rounded(bytes);
      peak = std::max(peak, now);
    }
    return block;
  }
  void release(void* block) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      auto found = blocks.find(static_cast<char*>(block));
      if (found == blocks.end()) return;
      now -= rounded(found->second);
      blocks.erase(found);
    }
    c10::free_cpu(block);
  }
  bool holds(const void* pointer) {
    auto* address = static_cast<const char*>(pointer);
    std::lock_guard<std::mutex> lock(mutex);
    auto next = blocks.upper_bound(address);
    if (next == blocks.begin()) return false;
    auto [first, bytes] = *std::prev(next);
    return address < first + bytes;
  }
};

Ledger& on_device = *new Ledger(512);
Ledger& pinned = *new Ledger(1);

// Since torch 2.9 `torch.accelerator.memory_allocated()` asks a `DeviceAllocator`.
#if TORCH_VERSION_MINOR >= 9
struct Allocator : c10::DeviceAllocator {
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override { on_device.peak = on_device.now; }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    auto& all = stats.allocated_bytes[0];
    all.current = on_device.now;
    all.peak = on_device.peak;
    stats.reserved_bytes[0] = all;  // nothing is kept for later
    return stats;
  }
#else
struct Allocator : c10::Allocator {
#endif
  Ledger& ledger;
  c10::Device place;
  c10::DeleterFnPtr release;

  Allocator(Ledger& ledger, c10::Device place, c10::DeleterFnPtr release)
      : ledger(ledger), place(place), release(release) {}
  c10::DataPtr allocate(size_t bytes) override {
    void* block = ledger.allocate(bytes);
    return {block, block, release, place};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

auto* const device_memory =
    new Allocator(on_device, here, [](void* block) { on_device.release(block); });
auto* const pinned_memory =
    new Allocator(pinned, host, [](void* block) { pinned.release(block); });
REGISTER_ALLOCATOR(c10::kPrivateUse1, device_memory)

// ---- Random numbers -----------------------------------------------------------------

// A generator of the device draws from a CPU generator of its own.
struct Generator final : c10::GeneratorImpl {
  at::Generator cpu;

  explicit Generator(at::Generator cpu)
      : GeneratorImpl(here, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        cpu(std::move(cpu)) {}
  c10::GeneratorImpl& it() const { return *cpu.unsafeGetGeneratorImpl(); }
  void set_current_seed(uint64_t seed) override { it().set_current_seed(seed); }
  void set_offset(uint64_t offset) override { it().set_offset(offset); }
  uint64_t get_offset() const override { return it().get_offset(); }
  uint64_t current_seed() const override { return it().current_seed(); }
  uint64_t seed() override { return it().seed(); }
  void set_state(const c10::TensorImpl& state) override { it().set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return it().get_state();
  }
  Generator* clone_impl() const override { return new Generator(cpu.clone()); }
};

at::Generator new_generator(c10::DeviceIndex = 0) {
  return at::make_generator<Generator>(at::detail::createCPUGenerator());
}
const at::Generator& default_generator = *new at::Generator(new_generator());

// Where the device's hooks (below) cannot make generators yet, in torch 2.6, a function
// is registered in their place.
template <class Hooks>
constexpr bool makes_generators =
    std::is_same_v<decltype(&Hooks::getNewGenerator),
                   at::Generator (Hooks::*)(c10::DeviceIndex) const>;
[[maybe_unused]] const bool generators_known = [] {
  if constexpr (!makes_generators<at::PrivateUse1HooksInterface>) {
    at::_GeneratorRegister{new_generator};
  }
  return true;
}();

// ---- The device ---------------------------------------------------------------------

// Work is done when a call returns: no stream runs ahead, and an event is the time of
// the host's clock at which it was recorded.
template <c10::DeviceType kind>
struct Guard final : c10::impl::DeviceGuardImplInterface {
  const c10::Device here{kind, 0};
  const c10::Stream stream{c10::Stream::DEFAULT, here};
  using Clock = std::chrono::steady_clock;
  static Clock::time_point& time(void* event) {
    return *static_cast<Clock::time_point*>(event);
  }

  c10::DeviceType type() const override { return kind; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Device getDevice() const override { return here; }
  c10::Device exchangeDevice(c10::Device) const override { return here; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}

  c10::Stream getStream(c10::Device) const noexcept override { return stream; }
  c10::Stream getDefaultStream(c10::Device) const override { return stream; }
  c10::Stream getNewStream(c10::Device, int) const override { return stream; }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    return stream;
  }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return stream; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}

  void record(void** event, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (!*event) *event = new Clock::time_point;
    time(*event) = Clock::now();
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Clock::time_point*>(event);
  }
  double elapsedTime(void* from, void* to, const c10::DeviceIndex) const override {
    return std::chrono::duration<double, std::milli>(time(to) - time(from)).count();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard<c10::kPrivateUse1>)

struct Hooks final : at::PrivateUse1HooksInterface {
  // Not all of these are virtual in torch 2.6.
  bool isBuilt() const { return true; }
  bool isAvailable() const { return true; }
  at::Generator getNewGenerator(c10::DeviceIndex) const { return new_generator(); }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return default_generator;
  }
  at::Allocator* getPinnedMemoryAllocator() const override { return pinned_memory; }
  bool isPinnedPtr(const void* pointer) const override {
    return pinned.holds(pointer);
  }
  c10::Device getDeviceFromPtr(void*) const override { return here; }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    at::native::resize_bytes_cpu(storage.unsafeGetStorageImpl(), bytes);
  }
};
[[maybe_unused]] const bool hooked =
    (at::RegisterPrivateUse1HooksInterface(new Hooks), true);

// ---- Operators ----------------------------------------------------------------------

// The same memory as a CPU tensor, for the time of one call.
at::Tensor as_cpu(const at::Tensor& tensor) {
  if (tensor.device() != here) return tensor;
  auto* data = static_cast<char*>(tensor.unsafeGetTensorImpl()->mutable_data());
  auto cpu = at::for_blob(data, tensor.sizes())
                 .strides(tensor.strides())
                 .options(at::TensorOptions().dtype(tensor.dtype()).device(host))
                 .make_tensor();
  cpu._set_conj(tensor.is_conj());
  cpu._set_neg(tensor.is_neg());
  return cpu;
}

// The second key takes no part in dispatch. It is there because PyTorch lets the tensors
// of the backends that it knows take each other's place (`x.data = y`, and with it
// `module.to(device)`), and PrivateUse1 is not in that list.
const auto keys = c10::DispatchKeySet(c10::DispatchKey::PrivateUse1) |
                  c10::DispatchKeySet(c10::BackendComponent::CPUBit);

void check(std::optional<at::Device> device, std::optional<bool> pin) {
  TORCH_CHECK(!device || device->index() <= 0, "there is one stand-in device, not ",
              *device);
  TORCH_CHECK(!pin.value_or(false), "Only dense CPU tensors can be pinned");
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device> device,
                 std::optional<bool> pin, std::optional<at::MemoryFormat> format) {
  check(device, pin);
  return at::detail::empty_generic(size, device_memory, keys,
                                   c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device> device, std::optional<bool> pin) {
  check(device, pin);
  return at::detail::empty_strided_generic(size, stride, device_memory, keys,
                                           c10::dtype_or_default(dtype));
}

at::Tensor& copy_(at::Tensor& to, const at::Tensor& from, bool) {
  auto target = as_cpu(to);
  at::native::copy_(target, as_cpu(from));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  auto target = at::native::resize_(to, from.sizes());
  return copy_(target, from, false);
}

at::Tensor& fill_(at::Tensor& tensor, const at::Scalar& value) {
  auto target = as_cpu(tensor);
  at::native::fill_(target, value);
  return tensor;
}

at::Scalar item(const at::Tensor& tensor) {
  return at::native::_local_scalar_dense_cpu(as_cpu(tensor));
}

at::Tensor& set_(at::Tensor& tensor) {
  auto nothing = empty({0}, at::typeMetaToScalarType(tensor.dtype()), {}, {}, {}, {});
  return at::native::set_tensor_(tensor, nothing);
}

// Tensors of two devices do not mix, but for CPU tensors without dimensions and
// indices (`Tensor?[]`). An element-wise operator has seen to that before it comes
// here; for the others a GPU's kernels ask this function of PyTorch's.
void check_one_device(const c10::FunctionSchema& schema, const c10::IValue* values) {
  std::optional<c10::Device> common;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    auto one = [&](const at::Tensor& tensor) {
      if (tensor.defined() && (tensor.dim() || !tensor.is_cpu())) {
        c10::impl::check_and_update_common_device(
            common, tensor, schema.name().c_str(), schema.arguments()[i].name().c_str());
      }
    };
    if (values[i].isTensor()) one(values[i].toTensor());
    if (values[i].isTensorList()) {
      for (const at::Tensor& tensor : values[i].toTensorVector()) one(tensor);
    }
  }
}

// A random operator draws from the generator that it was given, else from the default
// one of this device.
void use_cpu_generators(const c10::FunctionSchema& schema, c10::IValue* values) {
  static const auto maybe_generator =
      c10::OptionalType::create(c10::GeneratorType::get());
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    if (!schema.arguments()[i].real_type()->isSubtypeOf(*maybe_generator)) continue;
    if (values[i].isNone()) values[i] = default_generator;
    auto generator = values[i].toGenerator();
    if (generator.device() == here) values[i] = generator.get<Generator>()->cpu;
  }
}

void run_on_the_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  // What goes on inside a device is no operator of the host: a profiler sees none.
  at::RecordFunctionGuard unseen(false);
  auto* values = stack->data() + stack->size() - op.schema().arguments().size();
  check_one_device(op.schema(), values);
  use_cpu_generators(op.schema(), values);
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

// The two operators that PyTorch calls when it has no convolution for a device.
template <bool backward>
void convolution(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
      backward ? "aten::convolution_backward" : "aten::convolution", "");
  if (backward) {  // this one also wants the sizes of the bias, after the weight
    auto place = stack->end() - 7;
    stack->insert(place, c10::IValue());
  }
  run_on_the_cpu(op, stack);
}

// Only the schema of the second operator says that it writes the running averages; what
// the CPU writes comes back to the device for that one alone.
void batch_norm(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  static const auto writing = c10::Dispatcher::singleton().findSchemaOrThrow(
      "aten::_native_batch_norm_legit", "");
  const bool has_averages = !torch::jit::peek(*stack, 3, 8).isNone();
  run_on_the_cpu(has_averages ? writing : op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("copy_", copy_);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("fill_.Scalar", fill_);
  library.impl("_local_scalar_dense", item);
  library.impl("resize_", at::native::resize_);
  library.impl("set_", set_);
  library.impl("set_.source_Storage",
               static_cast<at::Tensor& (*)(at::Tensor&, at::Storage)>(at::native::set_));
  library.impl("set_.source_Storage_storage_offset", at::native::set_storage_cpu_);
  library.impl("set_.source_Tensor", at::native::set_tensor_);
  library.impl("as_strided", at::native::as_strided_tensorimpl);
  library.impl("view", at::native::view);
  library.impl("_reshape_alias", at::native::_reshape_alias);
  library.impl("unfold", at::native::unfold);
  // It has one stream: what is freed is no longer in use.
  library.impl("record_stream", [](at::Tensor&, c10::Stream) {});
  library.impl("view_as_real", at::native::view_as_real);
  library.impl("view_as_complex", at::native::view_as_complex);
  library.impl("native_batch_norm",
               torch::CppFunction::makeFromBoxedFunction<&batch_norm>());
  library.impl("convolution_overrideable",
               torch::CppFunction::makeFromBoxedFunction<&convolution<false>>());
  library.impl("convolution_backward_overrideable",
               torch::CppFunction::makeFromBoxedFunction<&convolution<true>>());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_the_cpu>());
}

// What the Python side asks: `torch.ops.standin.…`.
TORCH_LIBRARY(standin, library) {
  library.def("memory() -> int[]", [] {
    std::lock_guard<std::mutex> lock(on_device.mutex);
    return std::vector<int64_t>{on_device.now, on_device.peak};
  });
  library.def("reset_peak() -> ()", [] {
    std::lock_guard<std::mutex> lock(on_device.mutex);
    on_device.peak = on_device.now;
  });
  library.def("generator() -> Generator?", [] { return default_generator; });
  // Autograd asks a device for its stream, also where FakeTensorMode makes tensors of
  // one that is not there; without a GPU, CUDA's own answer would end the process.
  library.def("let_cuda_be_faked() -> ()", [] {
    auto* known = c10::impl::device_guard_impl_registry[int(c10::kCUDA)].load();
    if (!known || !known->deviceCount()) {
      c10::impl::DeviceGuardImplRegistrar(c10::kCUDA, new Guard<c10::kCUDA>);
    }
  });
}

}  // namespace
