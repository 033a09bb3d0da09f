package tune

import (
	"slices"
	"strings"
	"testing"
)

const declared = `{"schema":"dyno.assemblies/1","service":"toyd",
"seams":[{"name":"log","implementations":[{"name":"plain"},{"name":"group"}]}],
"settings":[
{"name":"workers","kind":"int","min":"1","max":"300","tune":true},
{"name":"loops","kind":"int","min":"0","max":"4","tune":true},
{"name":"memory","kind":"bytes","min":"1KiB","max":"1TiB","tune":true},
{"name":"linger","kind":"duration","min":"0s","max":"1s","tune":true},
{"name":"filter","kind":"bool","tune":true},
{"name":"sync","kind":"one-of","values":["always","never"]},
{"name":"url","kind":"text","tune":true},
{"name":"gogc","kind":"int","min":"0","max":"10000"}]}`

func toy(t *testing.T) Program {
	t.Helper()
	d, err := ParseDeclared([]byte(declared))
	if err != nil {
		t.Fatal(err)
	}
	values, err := ParseResolved([]byte(`{"name":"tuned","seams":{"log":"group"},"settings":{"workers":"256","loops":"0","memory":"64MiB","linger":"2ms","filter":"false","sync":"always","url":"x","gogc":"0"}}`))
	if err != nil {
		t.Fatal(err)
	}
	return Program{Declared: d, Values: values, Procs: 2, RSS: 100 << 20, Memory: 8 << 30, Profiled: true}
}

func names(cs []Candidate) string {
	var out []string
	for _, c := range cs {
		out = append(out, c.String())
	}
	return strings.Join(out, ", ")
}

func TestSingles(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Program)
		only   []string
		want   string
	}{
		{"all", func(*Program) {}, nil, "pgo, GOGC=200, GOGC=400, GOMAXPROCS=1, GOMAXPROCS=4, workers=300, workers=128, loops=1, loops=2, " +
			"memory=128MiB, memory=32MiB, linger=4ms, linger=1ms, filter=true, " +
			"GOGC=50, GOGC=off GOMEMLIMIT=256MiB, GOGC=off GOMEMLIMIT=448MiB, workers=64, loops=4, memory=256MiB, memory=16MiB, linger=8ms, linger=500µs"},
		{"a seam and a promise, by name", func(*Program) {}, []string{"LOG", "sync"}, "sync=never, log=plain"},
		{"a memory limit alone", func(*Program) {}, []string{"gomemlimit"}, "GOGC=off GOMEMLIMIT=256MiB, GOGC=off GOMEMLIMIT=448MiB"},
		{"no room for a memory limit", func(p *Program) { p.Memory = 1 << 30 }, []string{"gomemlimit"}, ""},
		{"another GOGC", func(p *Program) { p.Runtime = map[string]string{"GOGC": "400"} }, []string{"gogc"}, "GOGC=200, GOGC=50, GOGC=100, GOGC=off GOMEMLIMIT=256MiB, GOGC=off GOMEMLIMIT=448MiB"},
		{"a GOGC of its own", func(p *Program) { p.Values["gogc"] = "400" }, []string{"gogc"}, "gogc=200, gogc=50, gogc=100"},
		{"set by the load", func(p *Program) { p.Fixed = func(name string) bool { return name == "workers" } }, []string{"workers"}, ""},
		{"one processor, no profile", func(p *Program) { p.Procs, p.Profiled = 1, false }, []string{"gomaxprocs", "pgo"}, "GOMAXPROCS=2"},
	} {
		p := toy(t)
		c.change(&p)
		got, notes, err := p.Singles(c.only)
		if err != nil || names(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, names(got), err, c.want)
		}
		if c.name == "set by the load" && len(notes) != 1 {
			t.Errorf("notes %q", notes)
		}
	}
	if _, _, err := toy(t).Singles([]string{"wrokers"}); err == nil || !strings.Contains(err.Error(), "workers") {
		t.Errorf("%v does not list what exists", err)
	}
}

// A setting that may weaken a promise is tried only if it is named: without names, Singles uses
// those marked with tune.
func TestUnmarkedSettingsAreNotTried(t *testing.T) {
	got, _, err := toy(t).Singles(nil)
	if err != nil || slices.ContainsFunc(got, func(c Candidate) bool { return c[0].Name == "sync" || c[0].Name == "log" }) {
		t.Errorf("%s, %v", names(got), err)
	}
}

func TestParseDeclaredRefuses(t *testing.T) {
	for _, text := range []string{"", "listening on :8080", `{"schema":"dyno.run/1"}`, `[]`} {
		if _, err := ParseDeclared([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// Whatever a program prints, no candidate sets the present value.
func FuzzDeclared(f *testing.F) {
	f.Add(declared, `{"seams":{"log":"group"},"settings":{"workers":"256","memory":"64MiB","linger":"2ms"}}`)
	f.Add(`{"schema":"dyno.assemblies/1","settings":[{"name":"a","kind":"int","min":"-9223372036854775808","max":"9223372036854775807","tune":true}]}`, `{"settings":{"a":"-5"}}`)
	f.Fuzz(func(t *testing.T, printed, resolved string) {
		d, err := ParseDeclared([]byte(printed))
		if err != nil {
			return
		}
		values, err := ParseResolved([]byte(resolved))
		if err != nil {
			return
		}
		got, _, err := Program{Declared: d, Values: values, Procs: 2}.Singles(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got {
			for _, x := range c {
				if x.Kind == Setting && x.Value == values[x.Name] {
					t.Errorf("%s is the present value", x)
				}
			}
		}
	})
}
