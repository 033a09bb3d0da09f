package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const shop = `name: shop
mode: load
slo: p99=20ms
target: {command: [./server]}
load: {url: "http://${target.listen}/", schedule: {rate: 50}}
variants: [{name: baseline}, {name: batch, args: [--batch]}]
`

// testdata/messages.txt lists mistakes that people make on a command line with their exit code
// and what is printed on stderr. Spaces separate the words. U is a URL at which nothing listens:
// a command line that is understood fails with that.
func TestMessages(t *testing.T) {
	table, err := filepath.Abs("testdata/messages.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for path, text := range map[string]string{"shop.yaml": shop, "folder/shop.yaml": shop, "empty/notes": "", "dyno-out/.gitignore": "*", "dyno-out/shop-20260301-101500/experiment.json": `{"version": 99}`, "later/experiment.json": `{"version": 99, "name": ["of a later form"]}`} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got strings.Builder
	for text := range strings.Lines(string(want)) {
		line, ok := strings.CutPrefix(text, "$ dyno ")
		if !ok {
			continue
		}
		var args []string
		for _, word := range strings.Fields(line) {
			if word == "U" {
				word = "http://127.0.0.1:1/"
			}
			args = append(args, word)
		}
		code, said := messageOf(t, args)
		fmt.Fprintf(&got, "%s%d %s\n", text, code, said)
	}
	if *update {
		if err := os.WriteFile(table, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	all, expected := strings.Split(got.String(), "$ "), strings.Split(string(want), "$ ")
	for i := range all {
		if all[i] != expected[i] {
			t.Errorf("got\n$ %swant\n$ %s", all[i], expected[i])
		}
	}
}

// messageOf runs a command; it returns the exit code and what was printed on stderr.
func messageOf(t *testing.T, args []string) (code int, said string) {
	t.Helper()
	return messageWith(t, t.Context(), args)
}

func messageWith(t *testing.T, ctx context.Context, args []string) (code int, said string) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stderr := os.Stderr
	os.Stderr = file
	code = run(ctx, args)
	os.Stderr = stderr
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return code, strings.TrimSuffix(string(b), "\n")
}
