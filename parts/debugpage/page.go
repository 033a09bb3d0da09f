// Package debugpage makes the pages that services show on their debug address: charts of the last
// five minutes, tables, and whether the server answers.
//
//	board := debugpage.Board{Name: "ordersd", Figures: figures}
//	env.Board("/debug/orders/", board)
//
// A Board is a list of figures over the service's own metrics, which the page asks /metrics for,
// once a second. What was before the page was opened, it asks Recent for, which keeps the figures for
// five minutes. A service that shows more, and acts, has a page of its own in the same style, with
// the same charts (Handler).
//
// It is not for public pages, nor for what must be kept: Prometheus keeps. It starts no goroutines:
// package daemon owns the one in which a Recent runs.
package debugpage

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
)

//go:embed assets
var assets embed.FS

// shared are the scripts that all pages begin with.
var shared = []string{"words.js", "dom.js", "chart.js", "live.js"}

// Handler serves a page at a path that ends in a slash. The HTML has places for /*style*/ and
// /*script*/, which begin with those that all pages share; the page's own scripts follow in order:
// statements that run while they load need only what is before them. Everything is in the one
// answer.
func Handler(html, style string, scripts ...string) http.Handler {
	html, policy := build(html, style, scripts)
	sum := sha256.Sum256([]byte(html))
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this is a page: GET it", http.StatusMethodNotAllowed)
			return
		case !strings.HasSuffix(r.URL.Path, "/"): // what the page asks for would lie beside it
			http.NotFound(w, r)
			return
		}
		head := w.Header()
		head.Set("Content-Type", "text/html; charset=utf-8")
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-cache") // kept, and asked after by its tag
		head.Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(html))
	})
}

// build puts the page together. Its policy allows the page's own style and script, by their hashes,
// and questions to its own server; text from the server cannot become markup by any way that
// browsers know.
func build(html, style string, scripts []string) (page, policy string) {
	style = asset("base.css") + style
	var script strings.Builder
	for _, name := range shared {
		script.WriteString(asset(name))
	}
	for _, text := range scripts {
		script.WriteString(text)
	}
	page = strings.NewReplacer("/*style*/", style, "/*script*/", script.String()).Replace(html)
	policy = "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script.String()) +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" +
		"; require-trusted-types-for 'script'; trusted-types 'none'"
	return page, policy
}

// hash names a text as policies do.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // a name in this package that is not in the program
	}
	return string(text)
}
