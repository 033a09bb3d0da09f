package live

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"dyno/lab/report/html"
)

//go:embed assets/pages.html
var pagesHTML string

//go:embed assets/live.css
var liveCSS string

//go:embed assets/live.js
var liveJS string

//go:embed assets/list.js
var listJS string

// assets are the files that the pages load, by name.
var assets = map[string]string{
	"page.css": html.StyleSheet() + "\n" + liveCSS,
	"chart.js": html.ChartLibrary(),
	"live.js":  liveJS,
	"list.js":  listJS,
}

// serveAsset lets the browser cache the content until it changes.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	text, ok := assets[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	kind := "text/javascript; charset=utf-8"
	if path.Ext(name) == ".css" {
		kind = "text/css; charset=utf-8"
	}
	sum := sha256.Sum256([]byte(text))
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(w, r, name, time.Time{}, strings.NewReader(text))
}

var pages = template.Must(template.New("pages").Funcs(html.Funcs()).Funcs(template.FuncMap{
	"table": html.Table,
	"link":  link,
}).Parse(pagesHTML))

// link is the address of an experiment's page. A folder's name may contain any character that the
// file system permits.
func link(name string) string { return "/run/" + url.PathEscape(name) + "/" }

func show(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		http.Error(w, "writing the page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}
