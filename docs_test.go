package dyno

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyno/parts/quicktest"
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

// settingRow is the first cell of a row in a page's table of settings, which names one setting or
// more.
var settingRow = regexp.MustCompile("(?m)^\\| ((?:`[a-z_]+`(?:, )?)+) \\|")

// The table of settings in a service's page has the settings of its command, and no other.
func TestSettingsAreDocumented(t *testing.T) {
	quicktest.Skip(t, "builds five commands")
	for _, service := range []string{"notifyd", "ordersd", "ledgersync", "chaind", "arenad"} {
		printed, err := exec.Command("go", "run", "dyno/services/...cmd/"+service, "assemblies", "--json").Output()
		if err != nil {
			t.Fatalf("%s assemblies: %v", service, err)
		}
		var a struct{ Settings []struct{ Name string } }
		if err := json.Unmarshal(printed, &a); err != nil || len(a.Settings) == 0 {
			t.Fatalf("%s assemblies: %d settings, %v", service, len(a.Settings), err)
		}
		page := "docs/reference/" + service + "-settings.md"
		_, table, _ := strings.Cut(read(t, page), "| setting |")
		table, _, _ = strings.Cut(table, "\n\n")
		rows := map[string]bool{}
		for _, row := range settingRow.FindAllStringSubmatch(table, -1) {
			for name := range strings.SplitSeq(row[1], ", ") {
				rows[strings.Trim(name, "`")] = true
			}
		}
		for _, setting := range a.Settings {
			if !rows[setting.Name] {
				t.Errorf("%s has no row for %s", page, setting.Name)
			}
			delete(rows, setting.Name)
		}
		for name := range rows {
			t.Errorf("%s has a row for %s, which %s does not have", page, name, service)
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
