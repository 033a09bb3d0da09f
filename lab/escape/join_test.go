package escape

import (
	"fmt"
	"strings"
	"testing"

	"dyno/lab/record"
)

// stack parses "function file:line < caller file:line".
func stack(t *testing.T, value float64, text string) record.Stack {
	t.Helper()
	s := record.Stack{Value: value}
	for _, part := range strings.Split(text, " < ") {
		var f record.Frame
		function, at, _ := strings.Cut(part, " ")
		i := strings.LastIndexByte(at, ':')
		f.Function, f.File = function, at[:i]
		if _, err := fmt.Sscan(at[i+1:], &f.Line); err != nil {
			t.Fatal(err)
		}
		s.Frames = append(s.Frames, f)
	}
	return s
}

const main38 = "main.work /home/me/svc/cmd/svcd/main.go:38"

func TestJoin(t *testing.T) {
	for _, tt := range []struct {
		name, stack string
		kind        Kind
		where       string
		what        string // the escapes, separated by commas, or the called function
	}{
		{"on the line itself", main38, Escaping, "cmd/svcd/main.go:38", "append(s, x...) escapes to heap"},
		{"built with -trimpath", "main.work example.com/svc/cmd/svcd/main.go:38", Escaping, "cmd/svcd/main.go:38", "append(s, x...) escapes to heap"},
		{"built in another checkout", "main.work /ci/build/svcd/main.go:38", Escaping, "cmd/svcd/main.go:38", "append(s, x...) escapes to heap"},
		{"in an inlined function of the packages", "example.com/svc/store.room /x/store.go:10 < example.com/svc/store.Keep /x/store.go:8 < " + main38,
			Escaping, "store/store.go:10", "make([]byte, n) escapes to heap"},
		{"in an inlined function of others", "errors.New /go/errors.go:65 < example.com/svc/store.Refuse /x/store.go:13 < " + main38,
			Escaping, "store/store.go:13", "&errors.errorString{...} escapes to heap"},
		{"in a called function of others", "bytes.growSlice /go/buffer.go:3 < bytes.(*Buffer).Write /go/buffer.go:9 < " + main38,
			Calling, "cmd/svcd/main.go:38", "bytes.(*Buffer).Write"},
		{"below an inlined function", "x.alloc /x/x.go:1 < errors.New /go/errors.go:65 < example.com/svc/store.Refuse /x/store.go:13",
			Calling, "store/store.go:13", "errors.New"},
		{"with several escapes", "main.work /home/me/svc/cmd/svcd/main.go:40", Escaping, "cmd/svcd/main.go:40", "a escapes to heap, b escapes to heap"},
		{"where nothing escapes", "main.work /home/me/svc/cmd/svcd/main.go:41", Runtime, "cmd/svcd/main.go:41", ""},
		{"in another command", "main.work /home/me/svc/cmd/other/main.go:38", Outside, "/home/me/svc/cmd/other/main.go:38", ""},
		{"in no code of the packages", "net/textproto.(*Reader).ReadLine /go/reader.go:7 < net/http.(*conn).serve /go/server.go:9", Outside, "/go/reader.go:7", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &record.Profile{Requests: 10, Stacks: []record.Stack{stack(t, 640, tt.stack)}}
			j := Join(parsed(t), p, &record.Profile{Stacks: []record.Stack{stack(t, 20, tt.stack)}})
			if len(j.Sites) != 1 {
				t.Fatalf("%d sites", len(j.Sites))
			}
			s := j.Sites[0]
			what := s.In
			for i, e := range s.Escapes {
				what += map[bool]string{true: ", "}[i > 0] + e.What
			}
			if s.Kind != tt.kind || fmt.Sprintf("%s:%d", s.File, s.Line) != tt.where || what != tt.what {
				t.Errorf("got %s %s:%d %q", s.Kind, s.File, s.Line, what)
			}
			if j.PerRequest(s.Bytes) != 64 || j.PerRequest(s.Objects) != 2 || s.Share != 1 {
				t.Errorf("64 bytes and 2 objects per request: got %+v", s)
			}
		})
	}
}

// Stacks with the same place are one site. The most expensive site comes first, and no allocation
// is lost.
func TestJoinAddsUpAndSorts(t *testing.T) {
	bytes := &record.Profile{Stacks: []record.Stack{
		stack(t, 10, main38), stack(t, 30, "example.com/svc/store.room /x/store.go:10"), stack(t, 25, main38), {Value: 5},
		stack(t, 7, "compress/flate.NewWriter /go/deflate.go:5 < runtime/pprof.writeHeap /go/pprof.go:1 < "+main38),
	}}
	j := Join(parsed(t), bytes, &record.Profile{})
	if len(j.Sites) != 2 || j.Sites[0].Bytes != 35 || j.Sites[1].Bytes != 30 || j.Bytes != 65 || j.Profiler != 7 || j.Sites[0].Share != 35.0/65 {
		t.Errorf("got %+v", j)
	}
	if j.Silent != 4 { // of six lines with an escape
		t.Errorf("%d lines were silent", j.Silent)
	}
	if len(j.Warnings) != 1 || !strings.Contains(j.Warnings[0], "figures are totals") {
		t.Errorf("warnings %q", j.Warnings)
	}
}

func TestJoinWarns(t *testing.T) {
	for want, stacks := range map[string][]string{
		"holds no allocations":           nil,
		"no stack of the profile passes": {"net/http.f /go/x.go:1"},
		"the source may have changed":    {"main.work /home/me/svc/cmd/svcd/main.go:41"},
	} {
		p := &record.Profile{Requests: 1}
		for _, s := range stacks {
			p.Stacks = append(p.Stacks, stack(t, 1, s))
		}
		if j := Join(parsed(t), p, p); len(j.Warnings) != 1 || !strings.Contains(j.Warnings[0], want) {
			t.Errorf("%s: got %q", want, j.Warnings)
		}
	}
}

// Of a called function, Join names the callee that allocates most.
func TestJoinNamesWhatAllocatesMost(t *testing.T) {
	bytes := &record.Profile{Stacks: []record.Stack{
		stack(t, 10, "bytes.growSlice /go/buffer.go:3 < net/http.(*Client).Do /go/client.go:9 < "+main38),
		stack(t, 30, "net/textproto.read /go/reader.go:3 < net/http.(*Client).Do /go/client.go:10 < "+main38),
	}}
	j := Join(parsed(t), bytes, &record.Profile{})
	if len(j.Sites) != 1 || j.Sites[0].In != "net/http.(*Client).Do" || j.Sites[0].Mostly != "net/textproto.read" || j.Sites[0].MostPart != 0.75 {
		t.Errorf("got %+v", j.Sites)
	}
}

// Two commands may have folders of the same name. The path decides; the name does so only if it is
// unambiguous.
func TestCommandsOfOneName(t *testing.T) {
	j := &joiner{listing: &Listing{Packages: []Package{
		{Path: "example.com/a/cmd/serve", Name: "main", Dir: "/home/me/a/cmd/serve"},
		{Path: "example.com/b/cmd/serve", Name: "main", Dir: "/home/me/b/cmd/serve"},
		{Path: "example.com/tool", Name: "main", Dir: "/home/me/tool"},
		{Path: "example.com/lib/tool", Name: "tool", Dir: "/home/me/lib/tool"},
	}}}
	for file, want := range map[string]string{
		"/home/me/a/cmd/serve/main.go":    "example.com/a/cmd/serve",
		"/home/me/b/cmd/serve/main.go":    "example.com/b/cmd/serve",
		"example.com/b/cmd/serve/main.go": "example.com/b/cmd/serve",
		"/ci/serve/main.go":               "",
		"/ci/tool/main.go":                "example.com/tool",
	} {
		if got, ok := j.ours(record.Frame{Function: "main.f", File: file}); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
