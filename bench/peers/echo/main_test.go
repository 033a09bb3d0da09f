package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"
)

// The test's program is the servers that compare starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// Each server answers every message, and has a line; the lines behind the first have a ratio.
func TestCompare(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("CPU clocks of other processes are read on Linux only")
	}
	var out bytes.Buffer
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := options{connections: 3, messages: 20, blocks: 4, rate: 1000, also: []string{self + " serve --library gws"}}
	if err := o.run(t.Context(), "compare", &out); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, text := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil || l.CPU <= 0 || l.Messages <= 0 {
			t.Errorf("%s: %v", text, err)
		}
		if first := len(names) == 0; first != (l.Beside == nil) {
			t.Errorf("%s: only the first has no ratio", text)
		}
		names = append(names, l.Server)
	}
	if got := strings.Join(names, " "); got != "gws gorilla frames echo.test" {
		t.Error(got)
	}
}

// A server that ends in the middle is an error, and so are options that make no sense.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		command string
		o       options
		want    string
	}{
		{"", options{}, "serve or compare"},
		{"serve", options{library: "x"}, "gorilla and frames"},
		{"serve", options{library: "gws", listen: "x"}, "--listen"},
		{"compare", options{connections: 1, messages: 1}, "--blocks 0"},
		{"compare", options{connections: 1, messages: 1, blocks: 1, rate: -1}, "--rate -1"},
		{"compare", options{connections: 1, messages: 1, blocks: 1, also: []string{""}}, "--also"},
		{"compare", options{connections: 1, messages: 1, blocks: 1, also: []string{filepath.Join(t.TempDir(), "no")}}, "no such file"},
	} {
		if err := c.o.run(t.Context(), c.command, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v", c.command, c.o, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (options{connections: 1, messages: 1, blocks: 1}).run(ctx, "compare", io.Discard); err == nil {
		t.Error("a comparison that was stopped has a result")
	}
}

// The message is a Ping in a ClientFrame: field 3, with field 1 in it.
func TestPing(t *testing.T) {
	number, _, n := protowire.ConsumeTag(ping)
	inner, m := protowire.ConsumeBytes(ping[n:])
	field, _, k := protowire.ConsumeTag(inner)
	at, l := protowire.ConsumeVarint(inner[k:])
	if number != 3 || n+m != len(ping) || field != 1 || k+l != len(inner) || at < 1.7e12 || at > 2e12 {
		t.Errorf("field %d, in it field %d with %d ms", number, field, at)
	}
}
