package linuxperf

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func TestPlaceOf(t *testing.T) {
	for symbol, want := range map[string]place{
		"JS:*fib /srv/a.js:2:13":                            {"fib", "/srv/a.js", 2},
		"JS:^ /srv/my app/a.js:4:13":                        {"(anonymous at 4:13)", "/srv/my app/a.js", 4},
		"JS:~get value file:///srv/a.mjs:7:1":               {"get value", "/srv/a.mjs", 7},
		"JS:^processTimers node:internal/timers:504:25":     {"processTimers", "node:internal/timers", 504},
		"LazyCompile:*fib server.js:2:13":                   {"fib", "server.js", 2},
		"JS:*":                                              {"[unknown]", "", 0},
		"JS:*fib /srv/a.js:x:13":                            {"fib /srv/a.js:x:13", "", 0},
		"py::Handler.do_GET:/srv/a.py":                      {"Handler.do_GET", "/srv/a.py", 0},
		"py::_run_module_as_main:<frozen runpy>":            {"_run_module_as_main", "<frozen runpy>", 0},
		"py::":                                              {"[unknown]", "", 0},
		"cfree@@GLIBC_2.2.5":                                {"cfree", "", 0},
		"finish.isra.0":                                     {"finish", "", 0},
		"v8::internal::(anonymous namespace)::Invoke":       {"v8::internal::(anonymous namespace)::Invoke", "", 0},
		"Builtin:DeoptimizationEntry_Eager":                 {"Builtin:DeoptimizationEntry_Eager", "", 0},
		"std::vector<int, std::allocator<int> >::push.back": {"std::vector<int, std::allocator<int> >::push.back", "", 0},
	} {
		if got := placeOf(symbol); got != want {
			t.Errorf("%q: %+v, want %+v", symbol, got, want)
		}
	}
}

// stacksOf returns a profile's stacks as text, each with its number of samples.
func stacksOf(p *profile.Profile) map[string]int64 {
	out := map[string]int64{}
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			names = append(names, l.Line[0].Function.Name)
		}
		out[strings.Join(names, ";")] += s.Value[0]
	}
	return out
}

// The file is the output of perf 6.1 for node 20 and Python 3.12.
func TestParse(t *testing.T) {
	f, err := os.Open("testdata/script.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := parse(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	got := stacksOf(p)
	for stack, n := range map[string]int64{
		"fib;fib;(anonymous at 4:13);listOnTimeout;uv_run": 2, // one of them interrupted
		"[kernel];uv__epoll_wait;uv_run":                   1,
		"_PyEval_EvalFrameDefault;fib":                     1,
		"[unknown]":                                        1,
		"Builtins_InterpreterEntryTrampoline;node::Start":  1,
	} {
		if got[stack] != n {
			t.Errorf("%s: %d samples, want %d", stack, got[stack], n)
		}
	}
	if len(got) != 5 || p.Sample[0].Value[1] != p.Sample[0].Value[0]*p.Period {
		t.Errorf("%v", got)
	}
}

func TestParseIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("1 \n")
	for range maxFrames + 10 {
		b.WriteString("\t  7f00 f (/bin/f)\n")
	}
	b.WriteString("\t  7f01 " + strings.Repeat("x", 3*maxLine) + " (/bin/f)\n\n1 \n\t 7f02 g (/bin/f)\n")
	p, err := parse(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sample) != 2 || len(p.Sample[0].Location) != maxFrames || stacksOf(p)["g"] != 1 {
		t.Errorf("%d samples, the first of %d frames", len(p.Sample), len(p.Sample[0].Location))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("17970 \n\t    7f396281a460 JS:*fib /srv/a.js:2:13 (/tmp/perf-17970.map)\n\n")
	f.Add("1\n\tffffffff813a2413 do_syscall (([kernel.kallsyms])\n\t7f00 py::f:/a.py (/tmp/a (deleted))\n")
	f.Add("1\n\t7f00 JS:^ node:x:1:2 (x)\n\t7f00 LazyCompile:*a:9 (x)\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckValid(); err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Sample {
			if len(s.Location) == 0 || slices.Contains(s.Location, nil) {
				t.Error("a sample without a place")
			}
		}
		for _, fn := range p.Function {
			if fn.Name == "" || fn.StartLine < 0 {
				t.Errorf("%+v", fn)
			}
		}
	})
}
