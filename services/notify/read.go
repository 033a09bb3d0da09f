package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxBadLines bounds the lines that an answer names.
const maxBadLines = 100

// readNotices reads a request's notices: all of them, or an error. batch says that it was NDJSON.
func readNotices(w http.ResponseWriter, r *http.Request) (notices []*notice, batch bool, err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/json" && kind != "application/x-ndjson" {
		return nil, false, refuse(http.StatusUnsupportedMediaType, "Content-Type %q is not known here; send application/json for one notice or application/x-ndjson for a batch", kind)
	}
	key := r.Header.Get("Idempotency-Key")
	if err := checkID("Idempotency-Key", key); err != nil {
		return nil, false, err
	}
	data, err := readBody(w, r)
	if err != nil {
		return nil, false, err
	}
	if kind == "application/x-ndjson" {
		notices, err = parseBatch(data, key)
		return notices, true, err
	}
	n, err := parseNotice(data, key)
	return []*notice{n}, false, err
}

// readBody reads a body that may be as large as a batch, in one piece where its length is told.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var data bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= maxBody {
		data.Grow(int(n) + bytes.MinRead) // ReadFrom wants that much room to see the end
	}
	_, err := data.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes; send it in parts", maxBody)
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "reading the body: %v", err)
	}
	return data.Bytes(), nil
}

// parseBatch reads one notice a line. An idempotency key stands for the ids of those that have none:
// KEY-LINE.
func parseBatch(data []byte, key string) ([]*notice, error) {
	notices := make([]*notice, 0, min(bytes.Count(data, []byte{'\n'})+1, maxBatch))
	var bad []badLine
	status := http.StatusBadRequest
	for line := 1; len(data) > 0; line++ {
		var text []byte
		text, data, _ = bytes.Cut(data, []byte{'\n'})
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if len(notices) == maxBatch {
			return nil, refuse(http.StatusRequestEntityTooLarge, "more than %d notices; send them in parts", maxBatch)
		}
		lineKey := key
		if key != "" {
			lineKey = fmt.Sprintf("%s-%d", key, line)
		}
		n, err := parseNotice(text, lineKey)
		if r := (*refusal)(nil); errors.As(err, &r) && len(bad) < maxBadLines {
			bad = append(bad, badLine{line, r.field, r.text})
			if r.status == http.StatusRequestEntityTooLarge {
				status = r.status
			}
		}
		if n != nil {
			n.line = line
		}
		notices = append(notices, n)
	}
	if len(bad) > 0 {
		return nil, refuseLines(status, bad)
	}
	if len(notices) == 0 {
		return nil, refuse(http.StatusBadRequest, "the batch is empty; send one notice a line")
	}
	return notices, nil
}

func parseNotice(data []byte, key string) (*notice, error) {
	if len(data) > maxNotice {
		return nil, refuse(http.StatusRequestEntityTooLarge, "a notice of %d bytes; the most is %d", len(data), maxNotice)
	}
	n, err := decodeNotice(data)
	if err != nil {
		return nil, err
	}
	if n.ID == "" {
		n.ID = key
	}
	return n, n.check()
}

// notJSON says what is wrong with a body, and in which field.
func notJSON(what string, err error) error {
	r := refuse(http.StatusBadRequest, "not %s: %v", what, err)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		r.field = wrong.Field
	} else if text := (*jsontext.SyntacticError)(nil); errors.As(err, &text) {
		r.field, _, _ = strings.Cut(strings.TrimPrefix(string(text.JSONPointer), "/"), "/")
	} else if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		r.field, _ = strconv.Unquote(name)
	}
	return r
}
