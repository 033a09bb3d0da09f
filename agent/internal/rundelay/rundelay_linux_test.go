package rundelay

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// waitedByAll is what the threads that live now have waited for a CPU, in s.
func waitedByAll(t *testing.T) float64 {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/schedstat")
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // it has just ended
		}
		ns, ok := waitedFor(b)
		if !ok {
			t.Fatalf("%s holds %q", f, b)
		}
		sum += ns
	}
	return float64(sum) / 1e9
}

// lockThreads keeps a number of threads besides the others until release is called, which ends
// them.
func lockThreads(n int) (ids []int64, release func()) {
	var group sync.WaitGroup
	stop, id := make(chan struct{}), make(chan int)
	for len(ids) < n {
		group.Go(func() {
			runtime.LockOSThread() // and not unlocked, so that the thread ends with the goroutine
			own := syscall.Gettid()
			if own == os.Getpid() {
				defer runtime.UnlockOSThread() // the main thread never ends
			}
			id <- own
			<-stop
		})
		if got := <-id; got != os.Getpid() {
			ids = append(ids, int64(got))
		}
	}
	return ids, func() { close(stop); group.Wait() }
}

func TestDelayIsThatOfAllThreads(t *testing.T) {
	_, release := lockThreads(threadReads + 8) // more than one reading looks at
	defer release()
	d := New()
	defer d.Close()
	before := waitedByAll(t)
	for range maxThreads / threadReads { // the first reading is that of all, and so are those in turns
		got, after := d.Read(), waitedByAll(t)
		if got < before || got > after {
			t.Fatalf("the threads waited %v s, want between %v and %v", got, before, after)
		}
	}
}

// A thread that there was no room for does not bring its whole life along when there is.
func TestLateThreadsStartFromNow(t *testing.T) {
	_, release := lockThreads(threadReads)
	defer release()
	d := New()
	defer d.Close()
	most := d.most
	d.most = 0
	before := waitedByAll(t)
	got := d.Read()
	d.most = most
	for range listEvery {
		got = d.Read()
	}
	if after := waitedByAll(t); got > after-before+1e-9 || len(d.threads) < threadReads {
		t.Errorf("%d threads waited %v s, want at most %v", len(d.threads), got, after-before)
	}
}

func TestThreadsComeAndGo(t *testing.T) {
	d := New()
	defer d.Close()
	d.Read()
	ids, release := lockThreads(1)
	for range listEvery {
		d.Read()
	}
	watched := func() bool { return slices.ContainsFunc(d.threads, func(t thread) bool { return t.id == ids[0] }) }
	if !watched() {
		t.Error("a new thread is not watched")
	}
	before := d.Read()
	release()
	for deadline := time.Now().Add(30 * time.Second); watched(); {
		if d.Read() < before {
			t.Fatal("the sum fell")
		}
		if time.Now().After(deadline) {
			t.Fatal("a thread that has ended is still watched")
		}
	}
}

func TestDelayClosesItsFiles(t *testing.T) {
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := open()
	d := New()
	d.Read()
	if during := open(); during <= before+1 {
		t.Errorf("%d files open, %d before: no thread is watched", during, before)
	}
	d.Close()
	if after := open(); after != before {
		t.Errorf("%d files open afterwards, %d before", after, before)
	}
	if d.Read() != 0 {
		t.Error("a closed delay reads on")
	}
}

func TestDelayIsBounded(t *testing.T) {
	d := New()
	defer d.Close()
	d.most = 2
	d.Read()
	if len(d.threads) > 2 {
		t.Errorf("%d threads are watched", len(d.threads))
	}
}

// As many threads as one sample reads: what they add to the agent's BenchmarkSample, as a share of
// a core at its ten samples a second.
func BenchmarkDelay(b *testing.B) {
	_, release := lockThreads(threadReads)
	defer release()
	d := New()
	defer d.Close()
	for b.Loop() {
		d.Read()
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*10*100, "%core")
}

// Whatever stands in a folder's entries, reading them ends, and yields names that lie within.
func FuzzDirentName(f *testing.F) {
	tasks, err := syscall.Open("/proc/self/task", syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		f.Fatal(err)
	}
	defer syscall.Close(tasks)
	buf := make([]byte, 4096)
	n, err := syscall.ReadDirent(tasks, buf)
	if err != nil {
		f.Fatal(err)
	}
	entries := buf[:n]
	var names []string
	for rest := entries; len(rest) > 0; {
		var name []byte
		name, rest = direntName(rest)
		names = append(names, string(name))
	}
	if !slices.Contains(names, strconv.Itoa(syscall.Getpid())) {
		f.Errorf("entries %q have no main thread", names)
	}
	f.Add(entries)
	f.Add(entries[:20])
	f.Fuzz(func(t *testing.T, entries []byte) {
		for rest := entries; len(rest) > 0; {
			before := len(rest)
			var name []byte
			name, rest = direntName(rest)
			if len(name)+len(rest) >= before {
				t.Fatalf("%d bytes became a name of %d and %d more", before, len(name), len(rest))
			}
		}
	})
}
