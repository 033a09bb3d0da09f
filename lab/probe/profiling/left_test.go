package profiling

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/record"
)

// Contention is recorded by pages that answer after the given time, by pages that ignore it and
// answer immediately, and by pages that record for long without a time: those are
// never asked without a time.
func TestContentionOfOtherPages(t *testing.T) {
	for name, page := range map[string]func(r *http.Request) (hangs bool){
		"after the time": func(*http.Request) bool { return false },
		"immediately":    func(r *http.Request) bool { r.URL.RawQuery = ""; return false },
		"slow":           func(r *http.Request) bool { return r.FormValue("seconds") == "" },
	} {
		var mu sync.Mutex
		hung := 0
		debug := target(t, func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != PathPprof+record.ProfileMutex && r.URL.Path != PathPprof+record.ProfileBlock || !page(r) {
				return false
			}
			mu.Lock()
			hung++
			mu.Unlock()
			<-r.Context().Done()
			return true
		})
		restore, err := RecordContention(t.Context(), Address{URL: debug})
		if err != nil {
			t.Fatal(err)
		}
		contend(t)
		files, _, err := Inspect(t.Context(), Inspection{Debug: Address{URL: debug}, Dir: t.TempDir(), CPU: time.Second, Trace: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{record.ProfileMutex, record.ProfileBlock} {
			if said := why(files, kind); said != "" {
				t.Errorf("%s: %s: %s", name, kind, said)
			}
		}
		if hung > 0 {
			t.Errorf("%s: asked %d times without a time", name, hung)
		}
		if err := restore(); err != nil {
			t.Error(err)
		}
	}
}

// Goroutines that end some time after their requests are gone from the last profile, and those that
// leak are in it.
func TestLeft(t *testing.T) {
	const many = fewMore + 80
	under := func(url, dir string) []record.ProfileFile {
		files, _, err := Inspect(t.Context(), Inspection{Debug: Address{URL: url}, Dir: dir, CPU: time.Second, Trace: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	release := make(chan struct{})
	var ended sync.WaitGroup
	begin := sync.OnceFunc(func() {
		for range many {
			ended.Go(func() { lingers(release) })
		}
	})
	debug := target(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, pathCPU) {
			begin() // between the first profile of goroutines and the second
		}
		return false
	})
	dir := t.TempDir()
	taken := under(debug, dir)
	time.AfterFunc(2*leftSoon, func() { close(release) })
	left := Left(t.Context(), Inspection{Debug: Address{URL: debug}, Dir: dir}, taken)
	ended.Wait()
	p, err := (&record.Run{Dir: dir, Profiles: []record.ProfileFile{left}}).Profile(record.ProfileGoroLeft, record.ValueGoroutines)
	if err != nil {
		t.Fatalf("%+v: %v", left, err)
	}
	for _, s := range p.Stacks {
		for _, f := range s.Frames {
			if strings.HasSuffix(f.Function, ".lingers") {
				t.Errorf("%v goroutines linger", s.Value)
			}
		}
	}
}

func lingers(until <-chan struct{}) { <-until }
