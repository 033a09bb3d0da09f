package profiling

import (
	"bytes"
	"io"
	"net/http"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A trace that is too large to be read whole is taken again at half the length.
func TestTraceTooLarge(t *testing.T) {
	var whole bytes.Buffer
	if err := trace.Start(&whole); err != nil {
		t.Skip(err)
	}
	trace.Stop()
	var mu sync.Mutex
	var asked []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.FormValue("seconds"))
		n := len(asked)
		mu.Unlock()
		if n > 1 {
			w.Write(whole.Bytes())
			return
		}
		io.WriteString(w, "go 1.26 trace\x00\x00\x00")
		for page := make([]byte, 1<<20); ; {
			if _, err := w.Write(page); err != nil {
				return
			}
		}
	})
	i := &inspector{client: New(Address{URL: url}), maxTrace: 1 << 20, Inspection: Inspection{Dir: t.TempDir(), Trace: 100 * time.Millisecond}}
	defer i.client.Close()
	got, err := i.takeTrace(t.Context())
	mu.Lock()
	defer mu.Unlock()
	if err != nil || got == nil || !slices.Equal(asked, []string{"0.1", "0.05", "0.1"}) {
		t.Errorf("%+v, %v, asked for %s", got, err, strings.Join(asked, ", "))
	}
}
