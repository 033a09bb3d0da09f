package backup

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	// stalled is the time limit for a client to read one write. A snapshot holds removed files, and so
	// their space on the disk, no longer than that for a client that has silently gone.
	stalled = time.Minute
	atOnce  = 256 << 10 // bytes
)

// Handler streams the snapshot that take takes, one at a time, as NAME-TIME.tar. An answer that is
// cut off by an error of the disk or the client lacks the terminating chunk of HTTP, so that the
// client that stores it detects that.
func Handler(name string, take func() (*Snapshot, error), log *slog.Logger) http.Handler {
	var one sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !one.TryLock() {
			refuse(w, http.StatusConflict, "another backup is under way; ask again when it is over")
			return
		}
		defer one.Unlock()
		s, err := take()
		if err != nil {
			refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
		defer s.Close()
		began := time.Now()
		w.Header().Set("Connection", "close") // its time limits are not for the next request
		w.Header().Set("Content-Type", "application/x-tar")
		w.Header().Set("Content-Disposition", `attachment; filename="`+name+`-`+began.UTC().Format("20060102T150405Z")+`.tar"`)
		out := bufio.NewWriterSize(patient{w, http.NewResponseController(w)}, atOnce)
		if err = s.WriteTar(out); err == nil {
			err = out.Flush()
		}
		if err != nil {
			log.Error("a backup was broken off", "error", err)
			panic(http.ErrAbortHandler) // makes net/http cut the answer off
		}
		log.Info("backup", "bytes", s.Size(), "seconds", time.Since(began).Seconds())
	})
}

// patient gives the client a time for each write.
type patient struct {
	io.Writer
	control *http.ResponseController
}

func (p patient) Write(b []byte) (int, error) {
	if err := p.control.SetWriteDeadline(time.Now().Add(stalled)); err != nil {
		return 0, err
	}
	return p.Writer.Write(b)
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": text}) // an error means that the client has gone
}
