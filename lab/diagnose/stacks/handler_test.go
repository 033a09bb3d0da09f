package stacks

import (
	"fmt"
	"math"
	"testing"

	"dyno/lab/record"
)

// The program's own code is a middleware; the handler behind it is a library's, which gathers and
// writes metrics. The cost is where the library's divides, and not the middleware's.
func TestPlaceBehindAMiddleware(t *testing.T) {
	const behind = " < lib.example/metrics.handle < net/http.HandlerFunc.ServeHTTP < main.counted.func1 < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve"
	of := func(value float64, stack string) record.Stack {
		s := record.Stack{Frames: stackOf(stack), Value: value}
		for i, f := range s.Frames {
			if f.File == "" {
				s.Frames[i].File = "/pkg/mod/lib@v1/lib.go"
			}
		}
		return s
	}
	all := []record.Stack{
		of(30, "runtime.mapassign < lib.example/metrics.process < lib.example/metrics.Gather < lib.example/metrics.once.Gather"+behind),
		of(25, "sort.Sort < lib.example/metrics.normalise < lib.example/metrics.Gather < lib.example/metrics.once.Gather"+behind),
		of(26, "strconv.AppendFloat < lib.example/text.Write"+behind),
		of(4, "io.WriteString"+behind),
		of(1, "sync/atomic.AddInt64 < main.counted.func1 < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve"),
		of(14, "runtime.gcBgMarkWorker"),
	}
	var got []string
	for _, s := range SitesOf(all, 100) {
		got = append(got, fmt.Sprintf("%s %.0f%% %t", s.Function, 100*s.Share, s.Cumulative))
	}
	want := []string{"lib.example/metrics.Gather 55% true", "lib.example/text.Write 26% true", "lib.example/metrics.handle 4% true", "main.counted.func1 1% false"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	// A handler of the program's own behind the middleware is the place.
	own := of(1, "encoding/json.Marshal < main.list < net/http.HandlerFunc.ServeHTTP < main.counted.func1 < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve")
	if f, ok := UserFrame(own.Frames); !ok || f.Function != "main.list" {
		t.Errorf("%+v", f)
	}
	// So is the program's own code that calls a library.
	call := of(1, "lib.example/pdf.Render < main.list < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve")
	if f, ok := UserFrame(call.Frames); !ok || f.Function != "main.list" {
		t.Errorf("%+v", f)
	}
}

// Several routes behind a middleware end in the same function: it is named once, with all its cost.
func TestPlaceBehindSeveralRoutes(t *testing.T) {
	var all []record.Stack
	for _, route := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		for callee, value := range map[string]float64{"Forward": 6, "Parse": 5} {
			s := record.Stack{Value: value, Frames: stackOf("runtime.mallocgc < lib.example/gw." + callee + " < lib.example/gw.route" + route +
				" < net/http.HandlerFunc.ServeHTTP < net/http.(*ServeMux).ServeHTTP < main.counted.func1 < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve")}
			for i, f := range s.Frames {
				if f.File == "" {
					s.Frames[i].File = "/pkg/mod/lib@v1/lib.go"
				}
			}
			all = append(all, s)
		}
	}
	var got []string
	for _, s := range SitesOf(all, 100) {
		got = append(got, fmt.Sprintf("%s %.0f%%", s.Function, 100*s.Share))
	}
	if want := []string{"lib.example/gw.Forward 48%", "lib.example/gw.Parse 40%"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Behind the program's own middleware, a handler of the standard library is the place of what it
// does, through adapters of the standard library and of routers too.
func TestPlaceBehindAMiddlewareOfAStandardHandler(t *testing.T) {
	const (
		logged = " < main.logged.func1 < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve"
		echo   = " < github.com/labstack/echo/v4.(*Echo).add.func1 < main.timed.func1.1 < github.com/labstack/echo/v4.(*Echo).ServeHTTP < net/http.serverHandler.ServeHTTP < net/http.(*conn).serve"
		files  = "syscall.Syscall < os.(*File).Read < net/http.serveFile < net/http.(*fileHandler).ServeHTTP"
	)
	for stack, want := range map[string]string{
		"syscall.Syscall < net/http.(*Transport).RoundTrip < net/http/httputil.(*ReverseProxy).ServeHTTP" + logged: "net/http/httputil.(*ReverseProxy).ServeHTTP",
		files + logged: "net/http.(*fileHandler).ServeHTTP",
		files + " < net/http.StripPrefix.func1 < net/http.HandlerFunc.ServeHTTP < net/http.(*ServeMux).ServeHTTP" + logged:       "net/http.(*fileHandler).ServeHTTP",
		"encoding/json.Marshal < expvar.Handler < net/http.HandlerFunc.ServeHTTP" + logged:                                       "expvar.Handler",
		"runtime.mallocgc < net/http.HandlerFunc.ServeHTTP" + logged:                                                             "main.logged.func1",
		"runtime.gopark < log.Printf" + logged:                                                                                   "main.logged.func1",
		files + " < github.com/labstack/echo/v4.WrapHandler.func1" + echo:                                                        "net/http.(*fileHandler).ServeHTTP",
		"encoding/json.Marshal < lib.example/api.List" + echo:                                                                    "lib.example/api.List",
		"encoding/json.Marshal < lib.example/api.List < github.com/labstack/echo/v4/middleware.RecoverWithConfig.func1.1" + echo: "lib.example/api.List",
		"encoding/json.Marshal < github.com/labstack/echo/v4.(*context).JSON < main.list" + echo:                                 "main.list",
		"runtime.mallocgc < lib.example/api.(*Handler).ServeHTTP" + logged:                                                       "lib.example/api.(*Handler).ServeHTTP",
		files + " < lib.example/mux.(*Router).ServeHTTP" + logged:                                                                "net/http.(*fileHandler).ServeHTTP",
	} {
		of := record.Stack{Frames: stackOf(stack), Value: 1}
		for i, f := range of.Frames {
			if !Standard(f.Function) && f.File == "" {
				of.Frames[i].File = "/pkg/mod/lib@v1/lib.go"
			}
		}
		if f, ok := UserFrame(of.Frames); !ok || f.Function != want {
			t.Errorf("%s: %s, want %s", stack, f.Function, want)
		}
		if got := Sites([]record.Stack{of}); len(got) != 1 || got[0].Function != want {
			t.Errorf("%s: %+v, want %s", stack, got, want)
		}
	}
}

// The entry of go w.flush() is flush, and not the function with that statement.
func TestEntryOfAGoStatement(t *testing.T) {
	f, ok := Entry(frames("os.(*File).Sync < main.(*wal).flush < main.(*wal).store.gowrap1"))
	if !ok || f.Function != "main.(*wal).flush" {
		t.Errorf("%+v", f)
	}
}

// A goroutine syncs a file under the lock that requests' goroutines need, in a program without an
// execution trace.
func TestGoroutineThatSyncsWithoutATrace(t *testing.T) {
	const (
		waiting = "runtime.gopark < runtime.selectgo < main.write < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve"
		child   = "runtime.gopark < sync.(*Mutex).Lock < example/wal.(*Log).store < main.write.func1"
		syncing = "syscall.Fsync < os.(*File).Sync < example/wal.(*Log).flush"
	)
	p := &record.Profile{Samples: 10, Stacks: []record.Stack{{Frames: frames(waiting), Value: 300}, {Frames: frames(child), Value: 290}, {Frames: frames(syncing), Value: 7}}}
	trace, _ := Moments(p, nil)
	for _, w := range trace.Waits {
		if KindOf(w) != WaitSelect {
			continue
		}
		chain := Chain(w, trace)
		if len(chain) != 1 || chain[0].By.Function != "example/wal.(*Log).flush" || What(chain[0].Wait) != WaitDisk || math.Abs(chain[0].Wait.Seconds-0.7) > 1e-9 {
			t.Errorf("%+v", chain)
		}
		return
	}
	t.Errorf("no request waits: %+v", trace.Waits)
}
