package debugpage

import (
	"encoding/json"
	"expvar"
	"io"
	"net/http"
	"os"
	"strings"

	"dyno/parts/redact"
)

// Cmdline answers like net/http/pprof, but hides what flags have of secrets.
func Cmdline(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, strings.Join(redact.Args(os.Args), "\x00"))
}

// Variables answers like package expvar, but for the same.
func Variables(w http.ResponseWriter, _ *http.Request) {
	all := map[string]json.RawMessage{}
	expvar.Do(func(v expvar.KeyValue) { all[v.Key] = json.RawMessage(v.Value.String()) })
	all["cmdline"], _ = json.Marshal(redact.Args(os.Args)) // of texts, which always have a form in JSON
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.Encode(all)
}
