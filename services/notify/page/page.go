// Package page is what people see of notifyd: one page with its rates, its queues by age, its
// failing subscribers and its dead letters, which it can replay and delete. The page asks the API,
// once a second, at v1/ below its own address; POST workers beside it changes their number.
//
// It is not an API and knows nothing of the dispatcher: what it shows is what GET v1/stats and
// v1/dead answer. It starts no goroutines.
package page

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

// scripts are the parts of the page's only script, in order: statements that run while the script
// loads need only the parts before them.
var scripts = []string{"words.js", "dom.js", "chart.js", "figures.js", "subscriptions.js", "letters.js", "page.js"}

// Handler serves the page: mount it at a path that ends in a slash, with the API at v1/ below that.
// Everything is in the one answer.
func Handler() http.Handler {
	html, policy := build()
	sum := sha256.Sum256([]byte(html))
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this is a page: GET it", http.StatusMethodNotAllowed)
			return
		case !strings.HasSuffix(r.URL.Path, "/"): // the API's addresses would lie beside it
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
func build() (html, policy string) {
	style := asset("page.css")
	var script strings.Builder
	for _, name := range scripts {
		script.WriteString(asset(name))
	}
	html = strings.NewReplacer("/*style*/", style, "/*script*/", script.String()).Replace(asset("page.html"))
	policy = "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script.String()) +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" +
		"; require-trusted-types-for 'script'; trusted-types 'none'"
	return html, policy
}

// hash names a text as policies do.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // a name in this file that is not in the program
	}
	return string(text)
}
