// Package page is the game in a browser: a lobby, and a room that is played with keys, mouse or
// thumbs. It predicts the own player, draws others between the states that come, and shows what the
// network does. It is plain ES modules and a canvas; they ask GET and POST v1/rooms and open ws,
// which lie beside it.
//
// It is not the server, and knows of the rules only what a player's own motion needs (web/sim.js);
// testdata/moves.json holds both to the same. It starts no goroutines.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed web
var web embed.FS

// policy allows what lies beside the page, and no text to become markup. Browsers take ws: to the
// own server as 'self'.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'" +
	"; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

type file struct{ text, tag, kind string }

// Handler serves the page. Mount it at /, with the API and the WebSocket beside it.
func Handler() http.Handler {
	files := load()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" {
			name = "index.html"
		}
		f, ok := files[name]
		switch {
		case !ok:
			http.NotFound(w, r)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this is a page: GET it", http.StatusMethodNotAllowed)
			return
		}
		head := w.Header()
		head.Set("Content-Type", f.kind)
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-cache") // kept, and asked after by its tag
		head.Set("ETag", f.tag)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(f.text))
	})
}

// load returns the files by their names. All have one tag: after a change, browsers take all again.
func load() map[string]file {
	entries, err := web.ReadDir("web")
	if err != nil {
		panic(err) // the folder is in the program
	}
	files, sum := map[string]file{}, sha256.New()
	for _, e := range entries {
		text, err := web.ReadFile("web/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum.Write(text)
		files[e.Name()] = file{text: string(text), kind: kinds[path.Ext(e.Name())]}
	}
	for name, f := range files {
		f.tag = `"` + hex.EncodeToString(sum.Sum(nil)[:8]) + `"`
		files[name] = f
	}
	return files
}

// kinds are the content types. They do not come from the system's tables, which differ.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}
