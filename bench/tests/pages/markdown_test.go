package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func show(all []step) string {
	var out []string
	for _, s := range all {
		out = append(out, fmt.Sprintf("%d %q file=%s skip=%s exit=%d", s.line, s.text, s.file, s.skip, s.exit))
	}
	return strings.Join(out, "\n")
}

func TestSteps(t *testing.T) {
	got, err := steps(`# A page

<!-- run: mkdir empty
cd empty -->

    go build . && ./shop serve & sleep 1   # a comment
    cat > a.txt <<'EOF'
    one

    dyno two
    EOF
    KEY="a b" TOKEN=$(./arenad token) curl http://127.0.0.1:1

    {"an":"answer"}

    what it prints: go build

<!-- not run: needs Docker -->
    docker compose up

<!-- file: main.go -->
` + "```go" + `
package main
` + "```" + `

<!-- exits 2 -->
` + "```sh" + `
dyno none
` + "```" + `

` + "```yaml" + `
cat: a key
` + "```" + `
`)
	if err != nil {
		t.Fatal(err)
	}
	want := `3 "mkdir empty" file= skip= exit=0
4 "cd empty" file= skip= exit=0
6 "go build . && ./shop serve &" file= skip= exit=0
6 "sleep 1   # a comment" file= skip= exit=0
7 "cat > a.txt <<'EOF'\none\n\ndyno two\nEOF" file= skip= exit=0
12 "KEY=\"a b\" TOKEN=$(./arenad token) curl http://127.0.0.1:1" file= skip= exit=0
19 "docker compose up" file= skip=needs Docker exit=0
23 "package main\n" file=main.go skip= exit=0
28 "dyno none" file= skip= exit=2`
	if show(got) != want {
		t.Errorf("got\n%s\nwant\n%s", show(got), want)
	}
}

func TestMarksThatMarkNothing(t *testing.T) {
	for page, want := range map[string]string{
		"<!-- not run: why -->\nprose": "line 2: a mark must stand in front",
		"<!-- not run -->\n    go":     `line 1: a comment is one of`,
		"<!-- exits 1 -->\n    prints": "line 2: a mark, but no command",
		"<!-- run: go":                 "line 1: a comment without an end",
		"```sh\ngo":                    "line 1: a block without an end",
	} {
		if _, err := steps(page); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %s", page, err, want)
		}
	}
}

// TestPagesCanBeRead: the marks of every page are understood, without running anything.
func TestPagesCanBeRead(t *testing.T) {
	t.Chdir("../../..")
	pages, err := allPages()
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	n := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all, err := steps(string(text))
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		n += len(all)
	}
	if n < 150 {
		t.Errorf("%d commands", n)
	}
}

// TestReader types commands as a page has them: a server occupies its terminal, the next command
// is typed into another one, one in the background leaves it free, and a failure has what was printed.
func TestReader(t *testing.T) {
	dir := t.TempDir()
	r := reader{dir: dir, env: os.Environ()}
	defer r.close()
	do := func(command string, exit int) error { return r.do(t.Context(), step{text: command, exit: exit}) }
	for _, command := range []string{"mkdir below && cd below", "NAME=x", "echo $NAME > a", `(echo '{"ready":true}'; exec sleep 100)`, "test -f a && test -z \"$NAME\"",
		`echo '{"ready":true}'; sleep 0.1; sleep 100 &`, "kill $!"} {
		if err := do(command, 0); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.terminals) != 2 || r.dir != filepath.Join(dir, "below") {
		t.Errorf("%d terminals, in %s", len(r.terminals), r.dir)
	}
	if err := do("false", 1); err != nil {
		t.Error(err)
	}
	if err := do("echo why; false", 0); err == nil || !strings.Contains(err.Error(), "ended with 1, not 0\n  | why") {
		t.Errorf("%v", err)
	}
}

// FuzzSteps: any page gives steps or an error.
func FuzzSteps(f *testing.F) {
	f.Add("<!-- run: a -->\n\n    go x <<EOF\n    y\n    EOF\n```\ncat\n```")
	f.Fuzz(func(t *testing.T, page string) {
		all, err := steps(page)
		for _, s := range all {
			if err == nil && s.text == "" {
				t.Errorf("%+v", s)
			}
		}
	})
}

// The marks of a table of stored results, or of settings, are not those of a block.
func TestStepsPassTables(t *testing.T) {
	for _, mark := range []string{"figures: notify name", "settings: notifyd"} {
		all, err := steps("<!-- " + mark + " -->\n| step |\n<!-- end -->\n\n    dyno version\n")
		if err != nil || len(all) != 1 || all[0].line != 5 {
			t.Errorf("%s: %+v, %v", mark, all, err)
		}
	}
}
