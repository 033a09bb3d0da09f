package rundelay

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"syscall"
)

const (
	// maxThreads bounds the threads that are watched, each through an open file; fdShare is the
	// part of the process's open-file limit that these files may take. Further threads are not
	// counted.
	maxThreads = 256
	fdShare    = 8
	// threadReads is the number of threads that one sample reads, under 1 us each: a third of a
	// sample's budget. More threads take turns, so the delay of the last of 256 appears seven
	// samples late.
	threadReads = 32
	// listEvery is the interval between searches for new threads, in samples: one second.
	listEvery = 10
)

// Sum is the time that the process's threads were ready to run and waited for a CPU. The kernel
// reports it per thread only (/proc/self/schedstat is the main thread's), so one file per thread
// stays open and is read again in place, which allocates nothing.
type Sum struct {
	tasks   int // /proc/self/task; below 0: not available
	threads []thread
	most    int // limit of threads
	next    int // index of the next thread to read
	count   int // readings so far
	ns      int64
	whole   bool // list has seen every thread, so any further one is new
	entries [4096]byte
	stat    [128]byte // one schedstat: three figures of up to 20 digits
}

// thread is one thread's schedstat: an open file and its last value, in ns.
type thread struct{ id, file, last int64 }

// New returns a Sum that watches no thread yet. It must be closed.
func New() *Sum {
	s := &Sum{tasks: -1}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return s
	}
	s.most = int(min(maxThreads, files.Cur/fdShare))
	if fd, err := syscall.Open("/proc/self/task", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0); err == nil {
		s.tasks = fd
	}
	return s
}

// Close closes the files; later readings are 0.
func (s *Sum) Close() {
	for _, t := range s.threads {
		syscall.Close(int(t.file))
	}
	if s.tasks >= 0 {
		syscall.Close(s.tasks)
	}
	s.threads, s.tasks = nil, -1
}

// Read returns the sum so far, in s: of the threads that existed at the first reading or later.
// The first reading reads all of them; otherwise threads that wait for their turn would add their
// whole past to later samples.
func (s *Sum) Read() float64 {
	if s.tasks < 0 {
		return 0
	}
	if s.count%listEvery == 0 {
		s.list()
	}
	if s.count == 0 {
		for _, t := range s.threads {
			s.ns += t.last
		}
	}
	s.count++
	for range min(len(s.threads), threadReads) {
		s.next %= len(s.threads)
		t := &s.threads[s.next]
		waited, lives := s.waited(t.file)
		if !lives {
			syscall.Close(int(t.file))
			*t = s.threads[len(s.threads)-1]
			s.threads = s.threads[:len(s.threads)-1]
			if len(s.threads) == 0 {
				break
			}
			continue
		}
		if waited > t.last {
			s.ns += waited - t.last
			t.last = waited
		}
		s.next++
	}
	return float64(s.ns) / 1e9
}

// waited returns the total delay of a thread, in ns; false: it has ended.
func (s *Sum) waited(file int64) (ns int64, lives bool) {
	n, err := syscall.Pread(int(file), s.stat[:], 0)
	if err != nil || n <= 0 {
		return 0, false
	}
	ns, _ = waitedFor(s.stat[:n])
	return ns, true
}

// waitedFor parses the second figure of a schedstat: the ns that a thread waited for a CPU.
func waitedFor(schedstat []byte) (ns int64, ok bool) {
	_, rest, found := bytes.Cut(schedstat, []byte(" "))
	field, _, more := bytes.Cut(rest, []byte(" "))
	if !found || !more {
		return 0, false
	}
	ns, err := strconv.ParseInt(string(field), 10, 64)
	return ns, err == nil
}

// list adds the threads that started since the previous call, and those for which there was no
// room then.
func (s *Sum) list() {
	knew := s.whole
	s.whole = false
	if _, err := syscall.Seek(s.tasks, 0, 0); err != nil {
		return
	}
	for len(s.threads) < s.most {
		n, err := syscall.ReadDirent(s.tasks, s.entries[:])
		if err != nil || n <= 0 {
			s.whole = err == nil
			return
		}
		for rest := s.entries[:n]; len(rest) > 0 && len(s.threads) < s.most; {
			var name []byte
			name, rest = direntName(rest)
			if bytes.HasPrefix(name, []byte(".")) {
				continue // for which ParseInt would allocate an error
			}
			if id, err := strconv.ParseInt(string(name), 10, 64); err == nil {
				s.take(id, knew)
			}
		}
	}
}

// take starts to watch a thread. Unless the thread is new, its delay until now is not part of the
// sum.
func (s *Sum) take(id int64, isNew bool) {
	if slices.ContainsFunc(s.threads, func(t thread) bool { return t.id == id }) {
		return
	}
	path := "/proc/self/task/" + strconv.FormatInt(id, 10) + "/schedstat"
	if fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
		t := thread{id: id, file: int64(fd)}
		if !isNew {
			t.last, _ = s.waited(t.file)
		}
		s.threads = append(s.threads, t)
	}
}

// direntName returns the name of the first entry in the result of getdents64(2), and the entries
// after it.
func direntName(entries []byte) (name, rest []byte) {
	const lengthAt, nameAt = 16, 19 // after inode and offset; after length and type
	if len(entries) < nameAt {
		return nil, nil
	}
	length := int(binary.NativeEndian.Uint16(entries[lengthAt:]))
	if length < nameAt || length > len(entries) {
		return nil, nil
	}
	name, _, _ = bytes.Cut(entries[nameAt:length], []byte{0})
	return name, entries[length:]
}
