package exectrace

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dyno/lab/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// traced returns an execution trace of a situation.
func traced(t testing.TB, situation func()) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skipf("tracing goes on already, perhaps by go test -trace: %v", err)
	}
	situation()
	trace.Stop()
	return b.Bytes()
}

func summarised(t testing.TB, raw []byte) *record.Trace {
	t.Helper()
	s, err := Summarise(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, s)
	if waiting, waited := waitedFor(s); len(s.Groups) < maxShown && waiting < waited-1e-6 {
		t.Errorf("groups waited %v s, at all places %v s", waiting, waited)
	}
	return s
}

// waitedFor returns how long goroutines waited in total, by groups and by places.
func waitedFor(s *record.Trace) (groups, places float64) {
	for _, g := range s.Groups {
		groups += g.Waiting + g.Syscall
	}
	for _, w := range s.Waits {
		places += w.Seconds
	}
	return groups, places + s.Rest
}

// consistent checks what must be true of every summary.
func consistent(t testing.TB, s *record.Trace) {
	t.Helper()
	running := 0.0
	for _, g := range s.Groups {
		running += g.Running
	}
	for _, w := range s.Waits {
		if w.WakerReady < 0 || w.WakerReady > w.WakerBusy || w.WakerBusy > 1 || w.Seconds < 0 || w.Goroutines < 1 || w.Wakers < 0 {
			t.Errorf("wait %+v", w)
		}
	}
	if len(s.Groups) < maxShown && math.Abs(running-s.Running) > 1e-6*(1+running) {
		t.Errorf("groups ran %v s, all %v s", running, s.Running)
	}
	// A goroutine may turn out to be an observer only after waits that already count.
	if waiting, waited := waitedFor(s); waiting > waited+1e-6*(1+waited) {
		t.Errorf("groups waited %v s, at all places %v s", waiting, waited)
	}
	if !(s.Seconds > 0) || s.Running < 0 || s.Runnable < 0 || s.Syscall < 0 || s.GCRunning < 0 || s.GCStopped < 0 || s.Rest < 0 {
		t.Errorf("summary %+v", s)
	}
}

// await waits until n goroutines are in a function and in a state, such as "chan send".
func await(t testing.TB, n int, state, function string) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		found := 0
		for one := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			head, _, _ := strings.Cut(one, "\n")
			if strings.Contains(head, "["+state) && strings.Contains(one, function+"(") {
				found++
			}
		}
		if found == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines are in %s, in state %q; want %d", found, function, state, n)
		}
	}
}

func has(stack []record.Frame, function string) bool {
	return slices.ContainsFunc(stack, func(f record.Frame) bool { return strings.HasSuffix(f.Function, function) })
}

// waitIn returns the only place of waiting that has a function on its stack.
func waitIn(t *testing.T, s *record.Trace, reason, function string) record.Wait {
	t.Helper()
	var found []record.Wait
	for _, w := range s.Waits {
		if w.Reason == reason && has(w.Stack, function) {
			found = append(found, w)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d places of waiting (%s) in %s, want 1: %+v", len(found), reason, function, s.Waits)
	}
	return found[0]
}

func group(t *testing.T, s *record.Trace, entry string) record.Group {
	t.Helper()
	for _, g := range s.Groups {
		if strings.HasSuffix(g.Entry.Function, entry) {
			return g
		}
	}
	t.Fatalf("no goroutines of %s in %+v", entry, s.Groups)
	return record.Group{}
}

func lockAndWork(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

func TestMutex(t *testing.T) {
	s := summarised(t, traced(t, func() {
		var mu sync.Mutex
		var all sync.WaitGroup
		mu.Lock()
		for range 3 {
			all.Go(func() { lockAndWork(&mu) })
		}
		await(t, 3, "sync.Mutex.Lock", "exectrace.lockAndWork")
		mu.Unlock() // each goroutine wakes the next
		all.Wait()
	}))
	w := waitIn(t, s, "sync", "exectrace.lockAndWork")
	if w.Count != 3 || w.Goroutines != 3 || w.Wakers != 3 || w.Stack[0].Function != "sync.(*Mutex).Lock" || !has(w.WokenBy, "sync.(*Mutex).Unlock") {
		t.Errorf("%+v", w)
	}
	if !has(w.WokenBy, "exectrace.lockAndWork") {
		t.Errorf("woken by %+v: two of three were woken from there", w.WokenBy)
	}
	if g := group(t, s, "TestMutex.func1.1"); g.Goroutines != 3 || g.Waiting < w.Seconds {
		t.Errorf("%+v, which waited %v s", g, w.Seconds)
	}
	if s.Procs != runtime.GOMAXPROCS(0) {
		t.Errorf("%d processors", s.Procs)
	}
}

func produce(c chan<- int) { c <- 1 }

func consume(c <-chan int, n int) {
	for range n {
		<-c
	}
}

func TestOneConsumer(t *testing.T) {
	s := summarised(t, traced(t, func() {
		c := make(chan int)
		var all sync.WaitGroup
		for range 5 {
			all.Add(1)
			go func() { defer all.Done(); produce(c) }()
		}
		await(t, 5, "chan send", "exectrace.produce")
		all.Add(1)
		go func() { defer all.Done(); consume(c, 5) }()
		all.Wait()
	}))
	w := waitIn(t, s, "chan send", "exectrace.produce")
	if w.Count != 5 || w.Goroutines != 5 || w.Wakers != 1 || !has(w.WokenBy, "exectrace.consume") {
		t.Errorf("%+v", w)
	}
	if w.WakerBusy <= 0 {
		t.Errorf("the consumer was busy %v of the time", w.WakerBusy)
	}
	if !strings.HasSuffix(w.Entry.Function, "TestOneConsumer.func1.1") || w.Entry.Line == 0 || w.Entry.File == "" {
		t.Errorf("started with %+v", w.Entry)
	}
}

// The time in which a waker was runnable counts as busy.
func TestReadyWaker(t *testing.T) {
	often := &goroutine{spent: spent{running: 3 * time.Second, runnable: 2 * time.Second, syscall: time.Second, waiting: 4 * time.Second}}
	seldom := &goroutine{spent: spent{running: 10 * time.Second}}
	p := &place{spot: spot{reason: "chan send", entry: &entry{}}, ended: 4, wakers: map[*goroutine]int64{often: 3, seldom: 1}}
	if w := p.record(10 * time.Second); w.WakerReady != 0.2 || w.WakerBusy != 0.6 {
		t.Errorf("%+v", w)
	}
}

func nap() { time.Sleep(time.Millisecond) }

func TestSleep(t *testing.T) {
	s := summarised(t, traced(t, func() { nap(); nap() }))
	w := waitIn(t, s, "sleep", "exectrace.nap")
	if w.Count != 2 || w.Goroutines != 1 || w.Seconds < 0.002 || w.WokenBy != nil || w.WakerBusy != 0 {
		t.Errorf("%+v", w)
	}
}

func readOne(c net.Conn) { io.ReadFull(c, make([]byte, 1)) }

func TestNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s := summarised(t, traced(t, func() {
		var all sync.WaitGroup
		all.Go(func() { readOne(client) })
		await(t, 1, "IO wait", "exectrace.readOne")
		server.Write([]byte{1})
		all.Wait()
	}))
	if w := waitIn(t, s, "network", "exectrace.readOne"); w.Count != 1 || w.Goroutines != 1 {
		t.Errorf("%+v", w)
	}
}

// compute takes some 30 ms of CPU time, however long it has to wait for it.
//
//go:noinline
func compute() {
	sum := sha256.Sum256(nil)
	for range 150_000 {
		sum = sha256.Sum256(sum[:])
	}
}

func TestBusiest(t *testing.T) {
	s := summarised(t, traced(t, func() {
		var all sync.WaitGroup
		all.Add(1)
		go func() { defer all.Done(); compute() }()
		all.Wait()
	}))
	b := s.Busiest
	if b == nil || !strings.HasSuffix(b.Entry.Function, "TestBusiest.func1.1") || b.Running <= 0 || b.Running > 1 {
		t.Fatalf("%+v", b)
	}
	if g := group(t, s, "TestBusiest.func1.1"); g.Running+g.Syscall < b.Running*s.Seconds-1e-6 {
		t.Errorf("the goroutine was busy for %v of %v s, its group %+v", b.Running, s.Seconds, g)
	}
}

func idle(c <-chan struct{}) { <-c }

// A goroutine that waits during the whole trace shows with its stack and for the whole time.
func TestWaitingThroughout(t *testing.T) {
	c := make(chan struct{})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { idle(c) })
	}
	await(t, 2, "chan receive", "exectrace.idle")
	s := summarised(t, traced(t, nap))
	close(c)
	all.Wait()
	w := waitIn(t, s, "", "exectrace.idle")
	if w.Count != 0 || w.Goroutines != 2 || math.Abs(w.Seconds-2*s.Seconds) > 1e-9 || w.WokenBy != nil {
		t.Errorf("%+v within %v s", w, s.Seconds)
	}
}

// Of a wait that began before the trace and ended in it, the trace has the end but not the place.
func TestWaitingBefore(t *testing.T) {
	c := make(chan struct{})
	var all sync.WaitGroup
	all.Add(1)
	go func() { defer all.Done(); idle(c); nap() }()
	await(t, 1, "chan receive", "exectrace.idle")
	s := summarised(t, traced(t, func() {
		close(c)
		all.Wait()
	}))
	g := group(t, s, "TestWaitingBefore.func1")
	i := slices.IndexFunc(s.Waits, func(w record.Wait) bool { return w.Reason == "" && w.Entry == g.Entry })
	if i < 0 || s.Waits[i].Stack != nil || s.Waits[i].Count != 1 || s.Waits[i].Wakers != 1 || !has(s.Waits[i].WokenBy, "TestWaitingBefore.func2") {
		t.Errorf("%+v", s.Waits)
	}
}

func TestGC(t *testing.T) {
	s := summarised(t, traced(t, runtime.GC))
	if s.GCRunning <= 0 || s.GCStopped <= 0 || s.GCStopped > s.Seconds || s.GCRunning > s.Seconds {
		t.Errorf("GC ran for %v s and stopped the world for %v s of %v s", s.GCRunning, s.GCStopped, s.Seconds)
	}
	if s := summarised(t, traced(t, func() {})); s.GCStopped != 0 && s.GCRunning == 0 {
		t.Errorf("the tracer's own stops of the world count: %v s", s.GCStopped)
	}
}

// A trace requested over HTTP does not show the handler that served it.
func TestObserversAreLeftOut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(pprof.Trace))
	defer server.Close()
	resp, err := http.Get(server.URL + "/?seconds=0.01")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Skipf("no trace (%s, %v); perhaps another is running", resp.Status, err)
	}
	s := summarised(t, raw)
	for _, g := range s.Groups {
		if observes(g.Entry.Function) || traces(g.Entry.Function) {
			t.Errorf("group %+v", g)
		}
	}
	for _, w := range s.Waits {
		if has(w.Stack, "net/http/pprof.Trace") || has(w.Stack, "runtime/trace.Start") {
			t.Errorf("wait %+v", w)
		}
	}
	if b := s.Busiest; b != nil && strings.HasPrefix(b.Entry.Function, "runtime.") {
		t.Errorf("busiest %+v", b)
	}
}
