package process

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseReady(t *testing.T) {
	tests := []struct {
		line string
		want map[string]string // nil: not a ready line
	}{
		{`{"listen":"127.0.0.1:8080","debug":"127.0.0.1:6060"}`, map[string]string{"listen": "127.0.0.1:8080", "debug": "127.0.0.1:6060"}},
		{`{"listen":"a","pid":12,"tls":true,"more":{"a":"b"}}` + "\r", map[string]string{"listen": "a"}},
		{`{}`, map[string]string{}},
		{`{"time":"now","level":"INFO","msg":"listening","listen":"x"}`, nil},
		{`null`, nil},
		{`["listen"]`, nil},
		{`"listen"`, nil},
		{`{"listen":`, nil},
		{`listening on :8080`, nil},
		{``, nil},
	}
	for _, tt := range tests {
		got, ok := parseReady([]byte(tt.line))
		if ok != (tt.want != nil) || !maps.Equal(got, tt.want) {
			t.Errorf("parseReady(%s) = %v, %v, want %v", tt.line, got, ok, tt.want)
		}
	}
}

// However the output is cut into writes, the first ready line is found and later lines do not
// matter.
func TestReadyLineInAnyPieces(t *testing.T) {
	text := "noise\n\n" + strings.Repeat("x", maxReadyLine+10) + "{\"listen\":\"too long\"}\n{\"listen\":\"right\"}\n{\"listen\":\"late\"}\n"
	rapid.Check(t, func(t *rapid.T) {
		r := &readyLine{found: make(chan struct{})}
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, maxReadyLine)).Draw(t, "size")
			n = min(n, len(rest))
			if got, err := r.Write(rest[:n]); got != n || err != nil {
				t.Fatalf("Write returned %d, %v", got, err)
			}
			rest = rest[n:]
		}
		select {
		case <-r.found:
		default:
			t.Fatal("not found")
		}
		if r.fields["listen"] != "right" {
			t.Fatalf("found %v", r.fields)
		}
	})
}

func FuzzReadyLine(f *testing.F) {
	f.Add([]byte("text\n{\"listen\":\":0\"}\n"))
	f.Add([]byte("{\"level\":1}\nnull\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole := &readyLine{found: make(chan struct{})}
		whole.Write(b)
		bytewise := &readyLine{found: make(chan struct{})}
		for i := range b {
			bytewise.Write(b[i : i+1])
		}
		if whole.done != bytewise.done || !maps.Equal(whole.fields, bytewise.fields) {
			t.Errorf("as one write %v %v, as many %v %v", whole.done, whole.fields, bytewise.done, bytewise.fields)
		}
		if len(whole.line) > maxReadyLine {
			t.Errorf("%d bytes are kept", len(whole.line))
		}
	})
}

// A program that prints no ready line is ready when Find finds it; one that prints a line with its
// address is ready by that.
func TestFind(t *testing.T) {
	found := map[string]string{"listen": "found"}
	for _, tt := range []struct {
		name, script, want string
		find               func(context.Context, int) (map[string]string, error)
		err                string
	}{
		{"found", `echo '{"msg":"hello"}'; exec sleep 1000`, "found", func(context.Context, int) (map[string]string, error) { return found, nil }, ""},
		{"printed", `echo '{"listen":"printed"}'; exec sleep 1000`, "printed", func(context.Context, int) (map[string]string, error) { return nil, nil }, ""},
		{"not clear", `exec sleep 1000`, "", func(context.Context, int) (map[string]string, error) { return nil, errors.New("two ports") }, "two ports"},
	} {
		s := shell(tt.script)
		s.ReadyLine, s.Find = true, tt.find
		p, err := Start(t.Context(), s)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil {
			continue
		}
		t.Cleanup(p.Kill)
		if p.Ready()["listen"] != tt.want {
			t.Errorf("%s: %v", tt.name, p.Ready())
		}
	}
}
