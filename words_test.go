package dyno

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

// phrases must not occur in comments, string literals, documentation and scenarios: they hide the
// actor or the quantity of a sentence, or replace a standard term.
var phrases = []struct{ pattern, instead string }{
	{`nobody|somebody|whoever|whom`, "name the actor: caller, worker, server, client, process"},
	{`(is|are|was|were|be|been|being) told|tells?`, "receives, is passed; returns, reports"},
	{`at once`, "concurrently or immediately"},
	{`so (many|much|long|often)`, "name the quantity"},
	{`(is|are|was|were) to (be|have|come|go|do|say|get|take|make|hold|keep|run|wait)`, "must, should or will"},
	{`comes? to nothing`, "fails"},
	{`lets go`, "releases"},
	{`mend(s|ed|ing)?`, "fix"},
	{`parted by`, "separated by"},
	{`by itself`, "on its own, alone or spontaneously"},
}

// Comments, texts and documentation are in plain English.
func TestPlainEnglish(t *testing.T) {
	words := newWording()
	for _, file := range textFiles(t) {
		for _, found := range words.check(t, file) {
			t.Error(found)
		}
	}
}

// textFiles lists the Go files except this one, the documentation and the scenarios.
func textFiles(t *testing.T) []string {
	t.Helper()
	files := slices.DeleteFunc(goFiles(t), func(f string) bool { return f == "words_test.go" })
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "dyno-out" || strings.HasPrefix(d.Name(), ".") && p != "."):
			return filepath.SkipDir
		case filepath.Ext(p) == ".md", filepath.Ext(p) == ".yaml" && strings.HasPrefix(filepath.ToSlash(p), "scenarios/"):
			files = append(files, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// jsonKey is the part of a struct tag that is a published name.
var jsonKey = regexp.MustCompile(`json:"[^"]*"`)

// wording finds phrases: all in one pass, and each for the advice.
type wording struct {
	all  *regexp.Regexp
	each []*regexp.Regexp
}

func newWording() (w wording) {
	var patterns []string
	for _, p := range phrases {
		pattern := strings.ReplaceAll(p.pattern, " ", `\s+`)
		patterns = append(patterns, pattern)
		w.each = append(w.each, regexp.MustCompile(`(?i)^(`+pattern+`)$`))
	}
	w.all = regexp.MustCompile(`(?i)\b(` + strings.Join(patterns, "|") + `)\b`)
	return w
}

// find reports the phrases in a text. line returns the line of an offset.
func (w wording) find(file, text string, line func(offset int) int) (found []string) {
	for _, at := range w.all.FindAllStringIndex(text, -1) {
		phrase := text[at[0]:at[1]]
		if phrase[1:] != strings.ToLower(phrase[1:]) {
			continue // an identifier such as http.NoBody
		}
		i := slices.IndexFunc(w.each, func(p *regexp.Regexp) bool { return p.MatchString(phrase) })
		found = append(found, fmt.Sprintf("%s:%d: %q: %s", file, line(at[0]), phrase, phrases[i].instead))
	}
	return found
}

// check returns the findings of a file.
func (w wording) check(t *testing.T, file string) (found []string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(file) == ".go" {
		return w.checkGo(t, file, source)
	}
	text := string(source)
	return w.find(file, text, func(offset int) int { return 1 + strings.Count(text[:offset], "\n") })
}

func (w wording) checkGo(t *testing.T, file string, source []byte) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(parsed) {
		return nil
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			at := files.Position(literal.Pos())
			text := jsonKey.ReplaceAllString(literal.Value, "")
			found = append(found, w.find(file, text, func(offset int) int { return at.Line + strings.Count(text[:offset], "\n") })...)
		}
		return true
	})
	for _, group := range parsed.Comments {
		var text bytes.Buffer
		var starts []int // offset of each comment in text
		for _, c := range group.List {
			starts = append(starts, text.Len())
			text.WriteString(strings.TrimPrefix(c.Text, "//") + "\n")
		}
		found = append(found, w.find(file, text.String(), func(offset int) int {
			return files.Position(group.List[sort.SearchInts(starts, offset+1)-1].Pos()).Line
		})...)
	}
	return found
}

// The phrases are found at line breaks and the start of a sentence, and not inside of identifiers.
func TestPlainEnglishFinds(t *testing.T) {
	words := newWording()
	for text, want := range map[string]int{
		"Nobody waits":                  1,
		"two of them run at\n\tonce":    1,
		"it is told so":                 1,
		"http.NoBody, and tellAll":      0,
		"as long as it is passed a key": 0,
		"it is to be fixed":             1,
	} {
		if found := words.find("file", text, func(int) int { return 1 }); len(found) != want {
			t.Errorf("%q: %d findings, want %d: %v", text, len(found), want, found)
		}
	}
}
