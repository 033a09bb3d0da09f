package assembly

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type toySettings struct {
	Workers int           `set:"workers" default:"1" min:"1" max:"64" doc:"goroutines that deliver"`
	Linger  time.Duration `set:"linger" default:"0s" min:"0s" max:"1s" doc:"how long a batch waits for more"`
	Segment int64         `set:"segment" default:"64MiB" min:"1MiB" max:"1GiB" doc:"size of a file of the log"`
	Sync    string        `set:"sync" values:"always,never" doc:"when to fsync"`
}

func toyAssembly() Parts {
	return Parts{
		Seams: []Seam{
			{Name: "queue", Doc: "where notices wait", Impls: []Impl{{"channel", "a buffered channel"}, {"ring", "grows"}, {"swap", "takes a batch"}}},
			{Name: "log", Doc: "where they are kept", Impls: []Impl{{"plain", "an fsync each"}, {"group", "an fsync for all"}}},
		},
		Settings: Settings[toySettings](),
		Ladder: []Step{
			{"ring", map[string]string{"queue": "ring"}, "a burst no longer blocks"},
			{"workers", map[string]string{"workers": "8"}, "Little's law"},
			{"group-commit", map[string]string{"log": "group", "linger": "1ms"}, "one fsync for all"},
		},
	}
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		assembly  string
		overrides map[string]string
		want      string // queue, log, workers, linger
	}{
		{Baseline, nil, "channel plain 1 0s"},
		{"ring", nil, "ring plain 1 0s"},
		{"workers", nil, "ring plain 8 0s"},
		{"group-commit", nil, "ring group 8 1ms"},
		{Tuned, nil, "ring group 8 1ms"},
		{Baseline, map[string]string{"queue": "swap"}, "swap plain 1 0s"},
		{Tuned, map[string]string{"queue": "channel", "linger": "5ms"}, "channel group 8 5ms"},
	} {
		choice, err := toyAssembly().Resolve(c.assembly, c.overrides)
		if err != nil {
			t.Errorf("%s %v: %v", c.assembly, c.overrides, err)
			continue
		}
		got := fmt.Sprint(choice.Get("queue"), " ", choice.Get("log"), " ", choice.Get("workers"), " ", choice.Get("linger"))
		if got != c.want || choice.Name() != c.assembly {
			t.Errorf("%s %v: %s is %s, want %s", c.assembly, c.overrides, choice.Name(), got, c.want)
		}
	}
}

func TestVariantsHaveEveryImplementation(t *testing.T) {
	a := toyAssembly()
	var labels []string
	seen := map[string]bool{}
	for _, v := range a.Variants() {
		choice, err := a.Resolve(v.Assembly, v.Set)
		if err != nil {
			t.Fatal(err)
		}
		labels = append(labels, v.Label)
		for _, seam := range a.Seams {
			seen[seam.Name+"="+choice.Get(seam.Name)] = true
		}
	}
	if want := "baseline ring workers tuned tuned,queue=swap"; strings.Join(labels, " ") != want {
		t.Errorf("%s, want %s", labels, want)
	}
	for _, seam := range a.Seams {
		for _, impl := range seam.Impls {
			if !seen[seam.Name+"="+impl.Name] {
				t.Errorf("%s=%s is in none", seam.Name, impl.Name)
			}
		}
	}
}

func TestChoiceAsJSON(t *testing.T) {
	choice, err := toyAssembly().Resolve("ring", map[string]string{"segment": "2MiB"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(choice)
	want := `{"name":"ring","seams":{"log":"plain","queue":"ring"},"settings":{"linger":"0s","segment":"2MiB","sync":"always","workers":"1"}}`
	if err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
	if got := Bind[toySettings](choice).Segment; got != 2<<20 {
		t.Errorf("segment %d bytes", got)
	}
}

func TestAskingForWhatIsNotDeclaredPanics(t *testing.T) {
	choice, err := toyAssembly().Resolve(Baseline, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func(){
		"a seam with a slip in its name": func() { choice.Get("qeue") },
		"a setting of another kind": func() {
			Bind[struct {
				W time.Duration `set:"workers"`
			}](choice)
		},
		"a setting of another kind, whose value could be either": func() {
			Bind[struct {
				W bool `set:"workers"` // 1 is a bool as well
			}](choice)
		},
		"a field that no setting can have": func() {
			Bind[struct {
				W float64 `set:"workers"`
			}](choice)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s went unnoticed", name)
				}
			}()
			ask()
		}()
	}
}

func TestCheckFindsMistakesInTheDeclaration(t *testing.T) {
	if err := toyAssembly().Check(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Parts)
		says   string
	}{
		"seam twice":              {func(a *Parts) { a.Seams[1].Name = "queue" }, `"queue" is empty or used twice`},
		"seam named as a setting": {func(a *Parts) { a.Seams[1].Name = "workers" }, `"workers" is empty or used twice`},
		"nameless setting":        {func(a *Parts) { a.Settings[0].Name = "" }, `"" is empty or used twice`},
		"empty seam":              {func(a *Parts) { a.Seams[0].Impls = nil }, "queue has no implementation"},
		"implementation twice":    {func(a *Parts) { a.Seams[0].Impls[1].Name = "channel" }, `"channel" is empty or used twice`},
		"step named baseline":     {func(a *Parts) { a.Ladder[0].Name = Baseline }, `"baseline" is empty or used twice`},
		"step to nowhere":         {func(a *Parts) { a.Ladder[1].Change = map[string]string{"queue": "rong"} }, "step workers: unknown implementation"},
		"step that does nothing":  {func(a *Parts) { a.Ladder[1].Change = nil }, "step workers changes nothing"},
		"default out of bounds": {func(a *Parts) {
			a.Settings[0] = Setting{Name: "workers", Kind: "int", Default: "0", Min: "1", Max: "2"}
		}, "0 is not between 1 and 2"},
		"bare setting":      {func(a *Parts) { a.Settings[0] = Setting{Name: "workers"} }, "has no kind"},
		"choice of nothing": {func(a *Parts) { a.Settings[3] = Setting{Name: "sync", Kind: "one-of"} }, "this service has none"},
	} {
		a := toyAssembly()
		c.change(&a)
		if err := a.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// drawAssembly draws an assembly with seams s0.. of implementations i0.. and settings n0.., and a
// ladder over them.
func drawAssembly(t *rapid.T) Parts {
	var a Parts
	for s := range rapid.IntRange(1, 4).Draw(t, "seams") {
		seam := Seam{Name: fmt.Sprint("s", s)}
		for i := range rapid.IntRange(1, 4).Draw(t, "implementations") {
			seam.Impls = append(seam.Impls, Impl{Name: fmt.Sprint("i", i)})
		}
		a.Seams = append(a.Seams, seam)
	}
	for n := range rapid.IntRange(0, 4).Draw(t, "settings") {
		a.Settings = append(a.Settings, Setting{Name: fmt.Sprint("n", n), Kind: "int", Default: fmt.Sprint(n), Min: "0", Max: "9"})
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "steps") {
		change := drawChange(t, a)
		a.Ladder = append(a.Ladder, Step{Name: fmt.Sprint("step", i), Change: change})
	}
	return a
}

func drawChange(t *rapid.T, a Parts) map[string]string {
	change := make(map[string]string)
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		if len(a.Settings) > 0 && rapid.Bool().Draw(t, "a setting") {
			change[rapid.SampledFrom(a.Settings).Draw(t, "setting").Name] = fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "value"))
		} else {
			seam := rapid.SampledFrom(a.Seams).Draw(t, "seam")
			change[seam.Name] = rapid.SampledFrom(seam.Impls).Draw(t, "implementation").Name
		}
	}
	return change
}

// The value of each seam and setting comes from the overrides, else from the highest step of the
// ladder up to the requested one that sets it, else from the default.
func TestResolveTakesTheLastWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAssembly(t)
		if err := a.Check(); err != nil {
			t.Fatal(err)
		}
		rungs := rapid.IntRange(0, len(a.Ladder)).Draw(t, "rungs")
		overrides := drawChange(t, a)
		choice, err := a.Resolve(a.Names()[rungs], overrides)
		if err != nil {
			t.Fatal(err)
		}
		words := []map[string]string{overrides}
		for _, step := range slices.Backward(a.Ladder[:rungs]) {
			words = append(words, step.Change)
		}
		defaults := make(map[string]string)
		for _, s := range a.Seams {
			defaults[s.Name] = "i0"
		}
		for i, s := range a.Settings {
			defaults[s.Name] = fmt.Sprint(i)
		}
		for name := range defaults {
			for _, said := range append(words, defaults) {
				if want, ok := said[name]; ok {
					if got := choice.Get(name); got != want {
						t.Fatalf("%s is %s, want %s", name, got, want)
					}
					break
				}
			}
		}
		last, err1 := a.Resolve(a.Names()[len(a.Ladder)], overrides)
		tuned, err2 := a.Resolve(Tuned, overrides)
		if err1 != nil || err2 != nil || !maps.Equal(last.values, tuned.values) {
			t.Fatalf("tuned %v is not the whole ladder %v", tuned.values, last.values)
		}
	})
}

// Whatever does not exist is refused as the user's mistake, and the message lists what does.
func TestResolveNeverFallsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAssembly(t)
		wrong := rapid.StringMatching(`[a-z0-9]{0,8}`).Filter(func(s string) bool {
			return !strings.HasPrefix(s, "i") && !strings.HasPrefix(s, "s") && !strings.HasPrefix(s, "n") &&
				!slices.Contains(a.Names(), s)
		}).Draw(t, "wrong")
		seam := rapid.SampledFrom(a.Seams).Draw(t, "seam")
		_, noAssembly := a.Resolve(wrong, nil)
		_, noSeam := a.Resolve(Baseline, map[string]string{wrong: "i0"})
		_, noImpl := a.Resolve(Baseline, map[string]string{seam.Name: wrong})
		for err, lists := range map[error]string{noAssembly: Tuned, noSeam: seam.Name, noImpl: "i0"} {
			if err == nil || !strings.Contains(err.Error(), lists) {
				t.Fatalf("%v does not list %s", err, lists)
			}
		}
	})
}

func number(kind, value, min, max string) Setting {
	return Setting{Name: "n", Kind: kind, Default: value, Min: min, Max: max}
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		setting Setting
		value   string
		says    string // "": accepted
	}{
		{number("int", "2", "1", "3"), "3", ""},
		{number("int", "2", "1", "3"), "4", "4 is not between 1 and 3"},
		{number("int", "2", "1", "3"), "two", `"two" is no int such as 2`},
		{number("int", "2", "1", "3"), "99999999999999999999", "no int"},
		{Setting{Name: "b", Kind: "bool"}, "false", ""},
		{Setting{Name: "b", Kind: "bool"}, "maybe", "neither true nor false"},
		{number("duration", "5m", "1ms", "24h"), "1m30s", ""},
		{number("duration", "5m", "1ms", "24h"), "25h", "not between 1ms and 24h"},
		{number("duration", "5m", "1ms", "24h"), "5", "no duration such as 5m"},
		{number("bytes", "64MiB", "1KiB", "1TiB"), "1500", ""},
		{number("bytes", "64MiB", "1KiB", "1TiB"), "2TiB", "not between 1KiB and 1TiB"},
		{number("bytes", "64MiB", "1KiB", "1TiB"), "9999999999GiB", "no bytes such as 64MiB"},
		{Setting{Name: "o", Kind: "one-of", Values: []string{"always", "never"}}, "never", ""},
		{Setting{Name: "o", Kind: "one-of", Values: []string{"always", "never"}}, "Never", `did you mean "never"`},
		{Setting{Name: "t", Kind: "text"}, "anything", ""},
	} {
		err := c.setting.check(c.value)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s=%s: %v, want %q", c.setting.Name, c.value, err, c.says)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"4096": 4096, "64KiB": 64 << 10, "3MiB": 3 << 20, "2GiB": 2 << 30, "1024TiB": 1 << 50, "-1KiB": -1024} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%s is read as %d, %v", text, got, err)
		}
	}
}

// A choice that is shown has no passwords; the one that is read has them.
func TestShownChoiceHasNoSecrets(t *testing.T) {
	const address = "nats://ops:s3cret@a,nats://ops:s3cret@b"
	p := Parts{Settings: []Setting{{Name: "url", Kind: "text"}, {Name: "api_key", Kind: "text"}, {Name: "tokens", Kind: "text"}}}
	choice, err := p.Resolve(Baseline, map[string]string{"url": address, "api_key": "s3cret", "tokens": "digest"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(choice)
	if want := `"settings":{"api_key":"***","tokens":"digest","url":"nats://ops:***@a,nats://ops:***@b"}`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%s, %v", text, err)
	}
	if choice.Get("url") != address || choice.Get("api_key") != "s3cret" {
		t.Error("the reader of the setting does not get it")
	}
}

// A name that is not there, or no more, is refused with those that are, and with the likeliest.
func TestUnknownNames(t *testing.T) {
	p := Parts{
		Seams:    []Seam{{Name: "lookup", Impls: []Impl{{Name: "single"}, {Name: "batch"}}}},
		Settings: []Setting{{Name: "workers", Kind: "int", Default: "1", Min: "1", Max: "9"}},
		Ladder:   []Step{{Name: "batched", Change: map[string]string{"lookup": "batch"}}},
	}
	for _, c := range []struct{ assembly, key, value, says string }{
		{"bached", "", "", `unknown assembly "bached"; did you mean "batched"? there are baseline, batched, tuned`},
		{Tuned, "lokup", "batch", `unknown seam or setting "lokup"; did you mean "lookup"? there are lookup, workers`},
		{Tuned, "worker", "1", `unknown seam or setting "worker"; did you mean "workers"? there are lookup, workers`},
		{Tuned, "queue_capacity", "1", `unknown seam or setting "queue_capacity"; there are lookup, workers`},
		{Tuned, "lookup", "bach", `unknown implementation of seam lookup "bach"; did you mean "batch"? there are single, batch`},
	} {
		var overrides map[string]string
		if c.key != "" {
			overrides = map[string]string{c.key: c.value}
		}
		if _, err := p.Resolve(c.assembly, overrides); err == nil || err.Error() != c.says {
			t.Errorf("%s %s=%s: %v, want %s", c.assembly, c.key, c.value, err, c.says)
		}
	}
}
