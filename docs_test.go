package dyno

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// link is the target of an inline link or picture.
	link = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	// docsPath is a file below docs/ as prose, comments and strings name it.
	docsPath = regexp.MustCompile(`\bdocs/[A-Za-z0-9_./-]*[A-Za-z0-9_]\.(md|png)\b`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// Links between pages lead to files, and to headings, that exist.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // another site
			}
			file := page
			if target != "" {
				file = path.Join(path.Dir(page), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
			} else if fragment != "" && !hasHeading(read(t, file), fragment) {
				t.Errorf("%s links to %s, but %s has no such heading", page, m[1], file)
			}
		}
	}
}

// Every path below docs/ that Markdown or Go code names exists.
func TestNamedPagesExist(t *testing.T) {
	for _, file := range append(pages(t), goFiles(t)...) {
		if file == "CHANGELOG.md" {
			continue // it also names pages of the past
		}
		for _, named := range docsPath.FindAllString(read(t, file), -1) {
			if _, err := os.Stat(named); err != nil {
				t.Errorf("%s names %s, which does not exist", file, named)
			}
		}
	}
}

// Readers find every page through the index.
func TestIndexListsEveryPage(t *testing.T) {
	index := read(t, "docs/README.md")
	for _, page := range pages(t) {
		if rel, below := strings.CutPrefix(page, "docs/"); below && rel != "README.md" && !strings.Contains(index, "("+rel+")") {
			t.Errorf("docs/README.md has no link to %s", rel)
		}
	}
}

// hasHeading reports whether a page has the heading of a fragment, in GitHub's form.
func hasHeading(page, fragment string) bool {
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		slug := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(slug, " ", "-") == fragment {
			return true
		}
	}
	return false
}

// pages lists the Markdown pages for readers by their path from the root.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("listing %s: %d found, %v", pattern, len(found), err)
		}
		for _, f := range found {
			all = append(all, filepath.ToSlash(f))
		}
	}
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
