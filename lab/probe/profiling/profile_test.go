package profiling

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.uber.org/goleak"

	"dyno/agent"
	"dyno/agent/profiles"
	"dyno/lab/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

var inOrder = []string{record.ProfileGoroStart, record.ProfileHeapStart, record.ProfileCPU, record.ProfileMutex,
	record.ProfileBlock, record.ProfileGoroutine, record.ProfileHeap}

// target serves the agent and pprof of this process at a debug address. It calls ask before each
// request; if ask returns true, it has answered the request.
func target(t *testing.T, ask func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	a := agent.New(agent.Config{Service: "inspected"})
	mux := http.NewServeMux()
	mux.Handle("/debug/dyno/", a)
	profiles.Mount(mux, a)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ask == nil || !ask(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { srv.Close(); a.Close() })
	return srv.URL
}

// contend makes goroutines contend for a lock until the test ends.
func contend(t *testing.T) {
	var mu sync.Mutex
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				runtime.Gosched() // let another goroutine run, which wants the lock
				mu.Unlock()
			}
		})
	}
	t.Cleanup(func() { close(stop); all.Wait() })
}

func kinds(files []record.ProfileFile) (taken, missing []string) {
	for _, f := range files {
		if f.Why == "" {
			taken = append(taken, f.Kind)
		} else {
			missing = append(missing, f.Kind)
		}
	}
	return taken, missing
}

func why(files []record.ProfileFile, kind string) string {
	i := slices.IndexFunc(files, func(f record.ProfileFile) bool { return f.Kind == kind })
	if i < 0 {
		return ""
	}
	return files[i].Why
}

func TestInspect(t *testing.T) {
	rate := runtime.SetMutexProfileFraction(-1)
	held := make([]byte, 16<<20) // so that a heap profile, which samples one in 512 KiB, holds something
	defer runtime.KeepAlive(held)
	dir, url := t.TempDir(), target(t, nil)
	restore, err := RecordContention(t.Context(), Address{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	contend(t)
	files, trace, err := Inspect(t.Context(), Inspection{Debug: Address{URL: url}, Agent: true, Dir: dir, CPU: time.Millisecond, Trace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if taken, _ := kinds(files); !slices.Equal(taken, inOrder) {
		t.Fatalf("%+v", files)
	}
	if now := runtime.SetMutexProfileFraction(-1); now != mutexFraction {
		t.Errorf("the mutex rate was 1/%d and is 1/%d", mutexFraction, now)
	}
	if err := restore(); err != nil {
		t.Error(err)
	}
	if now := runtime.SetMutexProfileFraction(-1); now != rate {
		t.Errorf("the mutex rate was 1/%d and is 1/%d", rate, now)
	}
	run := &record.Run{Dir: dir, Profiles: files}
	for kind, value := range map[string]string{
		record.ProfileHeap: record.ValueInUseBytes, record.ProfileGoroutine: record.ValueGoroutines,
		record.ProfileMutex: record.ValueDelay, record.ProfileBlock: record.ValueContentions,
	} {
		p, err := run.Profile(kind, value)
		if err != nil || p.Total() <= 0 {
			t.Errorf("%s: %+v, %v", kind, p, err)
			continue
		}
		for _, s := range p.Stacks {
			if kind == record.ProfileBlock && strings.HasPrefix(s.Frames[0].Function, "net/http/pprof.") {
				t.Errorf("the profile's own handler blocked: %+v", s)
			}
		}
	}
	if p, err := run.Profile(record.ProfileCPU, record.ValueCPU); err != nil || p.Seconds != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := run.Profile(record.ProfileHeap, record.ValueAllocBytes); err != nil || p.Seconds < 1 {
		t.Errorf("allocated over %+v, %v", p, err)
	}
	if kept, err := run.Trace(); err != nil || kept.Seconds != trace.Seconds || trace.Seconds < 0.05 || trace.Goroutines < 4 {
		t.Errorf("%+v, kept as %+v, %v", trace, kept, err)
	}
}

// The entry of each missing profile has the reason, and the other profiles are there.
func TestInspectEntersWhatIsMissing(t *testing.T) {
	never := &profile.Profile{SampleType: []*profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}}
	var mu sync.Mutex
	unauthorized := 0
	url := target(t, func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			unauthorized++
		}
		switch r.URL.Path {
		case "/debug/pprof/mutex":
			never.Write(w)
		case "/debug/pprof/block":
			http.NotFound(w, r)
		case "/debug/pprof/trace":
			io.WriteString(w, "go 1.26 trace\x00\x00\x00")
			for chunk := make([]byte, 8<<20); ; {
				if _, err := w.Write(chunk); err != nil {
					return true
				}
			}
		default:
			return false
		}
		return true
	})
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Skipf("a CPU profile is running: %v", err)
	}
	defer pprof.StopCPUProfile()
	files, trace, err := Inspect(t.Context(), Inspection{Debug: Address{URL: url, Token: "s3cret"}, Dir: t.TempDir(), CPU: time.Second, Goroutines: 1})
	if err != nil || trace != nil {
		t.Fatalf("%+v, %v", trace, err)
	}
	taken, missing := kinds(files)
	if !slices.Equal(taken, []string{record.ProfileGoroStart, record.ProfileHeapStart, record.ProfileHeap}) || len(missing) != 5 {
		t.Errorf("taken %v, missing %v", taken, missing)
	}
	for kind, want := range map[string]string{
		record.ProfileCPU:       "already in use",
		record.ProfileMutex:     "SetMutexProfileFraction is probably off; only the agent",
		record.ProfileBlock:     "404",
		record.ProfileTrace:     "larger than",
		record.ProfileGoroutine: "goroutines",
	} {
		if got := why(files, kind); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
	if unauthorized > 0 {
		t.Errorf("%d requests came without the token", unauthorized)
	}
}

// Of a target without execution traces, Inspect takes more goroutine profiles.
func TestInspectWithoutATrace(t *testing.T) {
	debug := target(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == pathTrace {
			http.NotFound(w, r)
			return true
		}
		return false
	})
	dir := t.TempDir()
	files, trace, err := Inspect(t.Context(), Inspection{Debug: Address{URL: debug}, Dir: dir, CPU: time.Second})
	if err != nil || trace != nil {
		t.Fatalf("%v, %v", trace, err)
	}
	r := &record.Run{Dir: dir, Profiles: files}
	p, err := r.Profile(record.ProfileGoroMany, record.ValueGoroutines)
	// A machine that is busy with other tests gives fewer within their time limit.
	if err != nil || p.Samples < 1 || p.Samples > moments || p.Total() < float64(p.Samples) {
		t.Errorf("%+v, %v", p, err)
	}
	files, _, err = Inspect(t.Context(), Inspection{Debug: Address{URL: debug}, Dir: t.TempDir(), CPU: time.Second, Goroutines: 1})
	if slices.ContainsFunc(files, func(f record.ProfileFile) bool { return f.Kind == record.ProfileGoroMany }) || err != nil {
		t.Errorf("with too many goroutines: %+v, %v", files, err)
	}
}

func TestInspectFindsNothing(t *testing.T) {
	url := serve(t, http.NotFound)
	files, trace, err := Inspect(t.Context(), Inspection{Debug: Address{URL: url}, Dir: t.TempDir()})
	if err == nil || trace != nil || !strings.Contains(err.Error(), "net/http/pprof") {
		t.Errorf("%+v, %v", trace, err)
	}
	if taken, missing := kinds(files); len(taken) != 0 || len(missing) != len(inOrder)+1 {
		t.Errorf("%+v", files)
	}
	if _, _, err := Inspect(t.Context(), Inspection{Debug: Address{URL: "ftp://x"}, Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "not a debug address") {
		t.Error(err)
	}
}

// Inspect restores the target's rates even after its context has ended.
func TestInspectRestoresWhenItIsEnded(t *testing.T) {
	rate := runtime.SetMutexProfileFraction(-1)
	ctx, cancel := context.WithCancel(t.Context())
	during := 0
	url := target(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != pathCPU {
			return false
		}
		during = runtime.SetMutexProfileFraction(-1)
		cancel()
		<-r.Context().Done()
		return true
	})
	files, _, err := Inspect(ctx, Inspection{Debug: Address{URL: url}, Agent: true, Dir: t.TempDir()})
	if !errors.Is(err, context.Canceled) || why(files, record.ProfileCPU) == "" {
		t.Errorf("%v, %+v", err, files)
	}
	if taken, _ := kinds(files); !slices.Contains(taken, record.ProfileHeapStart) {
		t.Errorf("%v were taken", taken)
	}
	if now := runtime.SetMutexProfileFraction(-1); during != mutexFraction || now != rate {
		t.Errorf("the mutex rate was 1/%d, then 1/%d, then 1/%d", rate, during, now)
	}
}

// If the rates of the target cannot be restored, the caller gets an error.
func TestContentionIsNotRestored(t *testing.T) {
	var changes atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == agent.PathControl && changes.Add(1)%2 == 0:
			http.Error(w, "not now", http.StatusServiceUnavailable)
		case r.URL.Path == agent.PathControl:
			io.WriteString(w, "{}")
		case r.URL.Path == PathPprof+"heap":
			pprof.Lookup("heap").WriteTo(w, 0)
		default:
			http.NotFound(w, r)
		}
	})
	restore, err := RecordContention(t.Context(), Address{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if err := restore(); err == nil || !strings.Contains(err.Error(), "not now") {
		t.Errorf("%v", err)
	}
	files, _, err := Inspect(t.Context(), Inspection{Debug: Address{URL: url}, Agent: true, Dir: t.TempDir(), CPU: time.Millisecond, Trace: time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "goes on recording contention") {
		t.Errorf("%v", err)
	}
	if taken, _ := kinds(files); !slices.Contains(taken, record.ProfileHeap) {
		t.Errorf("%v were taken", taken)
	}
}

func TestFetchRefusesOtherThings(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a page":  {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") }, "net/http/pprof"},
		"empty":   {func(w http.ResponseWriter, r *http.Request) {}, "net/http/pprof"},
		"refused": {func(w http.ResponseWriter, r *http.Request) { http.Error(w, "a token is needed", http.StatusForbidden) }, "403 Forbidden: a token is needed"},
	} {
		i := &inspector{client: New(Address{URL: serve(t, tt.answer)})}
		if _, err := i.fetch(t.Context(), pathHeap, time.Minute); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		i.client.Close()
	}
}

// A lock that is never free is missing from a mutex profile that was switched on too late.
func TestHiddenLock(t *testing.T) {
	of := func(leaf string, seconds float64) *profile.Profile {
		f := &profile.Function{ID: 1, Name: leaf}
		l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
		return &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "contentions"}, {Type: "delay"}},
			Sample:     []*profile.Sample{{Value: []int64{5, int64(seconds * 1e9)}, Location: []*profile.Location{l}}},
		}
	}
	for _, tt := range []struct {
		mutex, block *profile.Profile
		want         bool
	}{
		{of("sync.(*Mutex).Unlock", 0), of("sync.(*Mutex).Lock", 5), true},
		{of("sync.(*RWMutex).Unlock", 0.2), of("sync.(*RWMutex).RLock", 5), true},
		{of("sync.(*Mutex).Unlock", 4), of("sync.(*Mutex).Lock", 5), false},
		{of("sync.(*Mutex).Unlock", 0), of("sync.(*Mutex).Lock", 0.01), false},
		{of("sync.(*Mutex).Unlock", 0), of("runtime.chanrecv1", 5), false},
		{&profile.Profile{}, &profile.Profile{}, false},
	} {
		if got := hidden(tt.mutex, tt.block); got != tt.want {
			t.Errorf("%v and %v: %v", tt.mutex, tt.block, got)
		}
	}
}

// Servers with a time limit on answers: until Go 1.24, net/http/pprof refused to exceed it;
// http.TimeoutHandler and others still cut the answer off.
func TestShorterLength(t *testing.T) {
	const profiled, traced = "\x1f\x8b", "go 1.26 trace\x00\x00\x00"
	for name, refuse := range map[string]http.HandlerFunc{
		"WriteTimeout": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "profile duration exceeds server's WriteTimeout", http.StatusBadRequest)
		},
		"TimeoutHandler": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "late", http.StatusServiceUnavailable) },
		"closed":         func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
	} {
		longest, asked := map[string]float64{"profile": 3, "trace": 0.06}, map[string]string{}
		var mu sync.Mutex // guards asked: an answer that is cut off does not order the two goroutines
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			kind := path.Base(r.URL.Path)
			seconds, err := strconv.ParseFloat(r.FormValue("seconds"), 64)
			mu.Lock()
			asked[kind] = r.FormValue("seconds")
			mu.Unlock()
			switch {
			case err != nil || seconds > longest[kind]:
				refuse(w, r)
			case kind == "trace":
				io.WriteString(w, traced)
			default:
				io.WriteString(w, profiled)
			}
		})
		i := &inspector{client: New(Address{URL: url}), Inspection: Inspection{Dir: t.TempDir(), CPU: 10 * time.Second, Trace: time.Second}}
		i.cpu(t.Context())
		i.takeTrace(t.Context())
		i.client.Close()
		mu.Lock()
		if asked["profile"] != "2" || asked["trace"] != "0.05" || i.files[0].Seconds != 2 {
			t.Errorf("%s: asked for %v, entered %+v", name, asked, i.files)
		}
		mu.Unlock()
	}
}
