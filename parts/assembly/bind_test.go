package assembly

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// inner is embedded in config.
type inner struct {
	Workers int `set:"workers" default:"16" min:"1" max:"65536" tune:"true" doc:"webhooks in flight"`
	Hidden  int `set:"hidden" default:"1" min:"1" max:"2" doc:"the outer struct has a field of its name"`
}

type config struct {
	inner

	Log     string        `seam:"log"`
	Timeout time.Duration `set:"timeout" default:"10s" min:"10ms" max:"5m" doc:"time limit of one attempt"`
	Memory  int64         `set:"memory" default:"256MiB" min:"1KiB" max:"1TiB" doc:"bytes of pending notices"`
	Filter  bool          `set:"filter" default:"true" doc:"whether there is a filter"`
	Foreign string        `set:"foreign" values:"404,403" doc:"status for others"`
	Server  struct {
		URL string `set:"url" default:"x" doc:"of the server"`
	}
	Hidden string // set by hand
}

func TestSettingsOfAStruct(t *testing.T) {
	want := []Setting{
		{Name: "workers", Kind: "int", Doc: "webhooks in flight", Default: "16", Min: "1", Max: "65536", Tune: true},
		{Name: "timeout", Kind: "duration", Doc: "time limit of one attempt", Default: "10s", Min: "10ms", Max: "5m"},
		{Name: "memory", Kind: "bytes", Doc: "bytes of pending notices", Default: "256MiB", Min: "1KiB", Max: "1TiB"},
		{Name: "filter", Kind: "bool", Doc: "whether there is a filter", Default: "true"},
		{Name: "foreign", Kind: "one-of", Doc: "status for others", Default: "404", Values: []string{"404", "403"}},
		{Name: "url", Kind: "text", Doc: "of the server", Default: "x"},
	}
	if got := Settings[config](); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestBind(t *testing.T) {
	a := Parts{Seams: []Seam{{Name: "log", Impls: []Impl{{Name: "plain"}, {Name: "group"}}}}, Settings: Settings[config]()}
	c, err := a.Resolve(Baseline, map[string]string{"log": "group", "workers": "3", "timeout": "1s", "memory": "1MiB", "filter": "false", "foreign": "403", "url": "y"})
	if err != nil {
		t.Fatal(err)
	}
	want := config{inner: inner{Workers: 3}, Log: "group", Timeout: time.Second, Memory: 1 << 20, Foreign: "403"}
	want.Server.URL = "y"
	if got := Bind[config](c); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestDefaults(t *testing.T) {
	want := config{inner: inner{Workers: 16}, Timeout: 10 * time.Second, Memory: 256 << 20, Filter: true, Foreign: "404"}
	want.Server.URL = "x"
	if got := Defaults[config](); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Bind[config](must(t, Parts{Seams: []Seam{{Name: "log", Impls: []Impl{{}}}}, Settings: Settings[config]()})); got != want {
		t.Errorf("bound: %+v, want %+v", got, want)
	}
	defer func() {
		if r := recover(); r == nil {
			t.Error("a default that cannot be read is taken")
		}
	}()
	Defaults[struct {
		Timeout time.Duration `set:"timeout" default:"soon" min:"0s" max:"1s"`
	}]()
}

func must(t *testing.T, p Parts) Choice {
	c, err := p.Resolve(Baseline, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTagsThatCannotBeRead(t *testing.T) {
	for says, settings := range map[string][]Setting{
		"setting n: its bounds": Settings[struct {
			N int `set:"n" default:"1" min:"1"`
		}](),
		"setting n has no kind": Settings[struct {
			N uint `set:"n"`
		}](),
		`setting d: "soon" is no duration such`: Settings[struct {
			D time.Duration `set:"d" default:"soon" min:"0s" max:"1s"`
		}](),
	} {
		if err := (Parts{Settings: settings}).Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}
