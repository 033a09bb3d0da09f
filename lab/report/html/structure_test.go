package html

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyno/lab/report/reporttest"

	"golang.org/x/net/html"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestPageOutline compares a page's headings, texts and tables, in order and without their style,
// with a golden file.
func TestPageOutline(t *testing.T) {
	reports := reporttest.Reports()
	reports["queues"] = reporttest.Queues().Report()
	for name, r := range reports {
		t.Run(name, func(t *testing.T) {
			root, err := html.Parse(strings.NewReader(pageOf(t, r)))
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			outline(&b, root, 0)
			path := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v; go test ./lab/report/html -run TestPageOutline -update writes it", err)
			}
			if got := b.String(); got != string(want) {
				t.Errorf("differs from %s; if it is right: go test ./lab/report/html -run TestPageOutline -update\ngot:\n%s", path, got)
			}
		})
	}
}

// phrasing are the elements that are part of the text around them.
var phrasing = []string{"a", "b", "code", "q", "small", "span", "strong", "output", "label"}

// outline writes a line for each element with a text or an id, below those of the enclosing
// elements.
func outline(b *strings.Builder, n *html.Node, depth int) {
	if n.Type != html.ElementNode {
		for c := range n.ChildNodes() {
			outline(b, c, depth)
		}
		return
	}
	id := attribute(n, "id")
	text := textOf(n)
	if n.Data == "tr" {
		var cells []string
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode {
				cells = append(cells, textOf(c))
			}
		}
		text = strings.Join(cells, " | ")
	}
	if n.Data == "svg" {
		text = "chart " + text
	}
	if id != "" || text != "" {
		line := strings.Repeat("  ", depth) + n.Data
		if id != "" {
			line += "#" + id
		}
		b.WriteString(strings.TrimRight(line+" "+text, " ") + "\n")
		depth++
	}
	if n.Data == "tr" || n.Data == "svg" {
		return
	}
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode && (!slices.Contains(phrasing, c.Data) || attribute(c, "id") != "") {
			outline(b, c, depth)
		}
	}
}

// textOf returns the text of an element, without that of inner elements that have lines of their
// own; of a chart it returns the title.
func textOf(n *html.Node) string {
	var parts []string
	for c := range n.ChildNodes() {
		switch {
		case c.Type == html.TextNode:
			parts = append(parts, c.Data)
		case c.Type == html.ElementNode && (slices.Contains(phrasing, c.Data) || n.Data == "svg" && c.Data == "title"):
			parts = append(parts, " ", textOf(c), " ")
		}
	}
	return strings.Join(strings.Fields(strings.Join(parts, "")), " ")
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
