package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"dyno/services/orders/web"
)

// verdict is the result of comparing two answers.
type verdict uint8

const (
	same verdict = iota
	different
	incomparable // the order has changed in between, or one version had no database
)

// compare reports whether the second version answers as the stable one did a little earlier, and if
// not, why. If an order has changed meanwhile, it has another version, and the answers are
// incomparable. (An order created meanwhile looks as if the stable version had not found it. That
// counts as a difference, because a version that shows other accounts' orders looks the same.)
func (r *Release) compare(req *web.Request, stable, second *web.Response) (verdict, string) {
	if v, what := compareHeads(stable, second); v != same || stable.Status == http.StatusNotModified {
		return v, what
	}
	a, err := r.unpack(stable)
	if err != nil {
		return incomparable, "the stable version's answer: " + err.Error()
	}
	b, err := r.unpack(second)
	if err != nil {
		return different, "the second version's answer: " + err.Error()
	}
	if bytes.Equal(a, b) {
		return same, ""
	}
	if mediaType(stable) != "application/json" {
		return different, fmt.Sprintf("bodies of %s, of %d and %d bytes", mediaType(stable), len(a), len(b))
	}
	return compareJSON(req, a, b)
}

func compareHeads(stable, second *web.Response) (verdict, string) {
	a, b := stable.Status, second.Status
	switch {
	case a >= 500 || a == http.StatusTooManyRequests:
		return incomparable, "the stable version returned no answer"
	case stable.Warning != "" || b < 500 && second.Warning != "":
		return incomparable, "stale"
	case a == http.StatusConflict && (b == http.StatusOK || b == http.StatusNotModified):
		return incomparable, "the requested version was committed meanwhile"
	case shows(a) && shows(b) && stable.ETag != second.ETag:
		if sameOrder(stable.ETag, second.ETag) {
			return incomparable, "the order has changed"
		}
		return different, fmt.Sprintf("ETag %.100q and %.100q", stable.ETag, second.ETag)
	case a != b:
		return different, fmt.Sprintf("status %d and %d", a, b)
	case mediaType(stable) != mediaType(second):
		return different, fmt.Sprintf("type %.100q and %.100q", mediaType(stable), mediaType(second))
	}
	return same, ""
}

// shows reports whether an answer with that status describes the current state of an order.
func shows(status int) bool { return status == http.StatusOK || status == http.StatusNotModified }

// sameOrder reports whether two entity tags, "UID-VERSION", are of the same order.
func sameOrder(a, b string) bool {
	uidA, _, okA := strings.Cut(a, "-")
	uidB, _, okB := strings.Cut(b, "-")
	return okA && okB && uidA == uidB
}

func mediaType(r *web.Response) string {
	t, _, err := mime.ParseMediaType(r.ContentType)
	if err != nil {
		return r.ContentType
	}
	return t
}

func (r *Release) unpack(resp *web.Response) ([]byte, error) {
	switch resp.ContentEncoding {
	case "", "identity":
		return resp.Body, nil
	case "zstd":
		body, err := r.zstd.DecodeAll(resp.Body, nil)
		if err != nil {
			return nil, fmt.Errorf("reading zstd: %w", err)
		}
		return body, nil
	}
	return nil, fmt.Errorf("it is encoded as %.20q, which is not read here", resp.ContentEncoding)
}

func compareJSON(req *web.Request, a, b []byte) (verdict, string) {
	left, err := parseJSON(a)
	if err != nil {
		return incomparable, "the stable version's answer is not JSON: " + err.Error()
	}
	right, err := parseJSON(b)
	if err != nil {
		return different, "the second version's answer is not JSON: " + err.Error()
	}
	pageA, isA := left.(map[string]any)
	pageB, isB := right.(map[string]any)
	if isA && isB && pageA["orders"] != nil && pageB["orders"] != nil {
		q, _ := url.ParseQuery(req.Query)
		return comparePages(pageA, pageB, q.Get("status") != "")
	}
	return judgeValues("", left, right)
}

// parseJSON parses one value; numbers keep their text.
func parseJSON(body []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows")
	}
	return v, nil
}

// differ returns where and how two values differ, or "". It builds the path while it returns: most
// values do not differ, and values from outside may be nested as deep as encoding/json permits.
func differ(a, b any) (at, how string) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return differObjects(a, b)
		}
	case []any:
		if b, ok := b.([]any); ok {
			return differArrays(a, b)
		}
	case json.Number:
		if b, ok := b.(json.Number); ok && equalNumbers(a, b) {
			return "", ""
		}
	default: // string, bool, nil
		if a == b {
			return "", ""
		}
	}
	return "", fmt.Sprintf("%.60s and %.60s", show(a), show(b))
}

func differObjects(a, b map[string]any) (at, how string) {
	for _, k := range slices.Sorted(maps.Keys(a)) {
		v, ok := b[k]
		if !ok {
			return clip("." + k), "is missing"
		}
		if at, how := differ(a[k], v); how != "" {
			return clip("." + k + at), how
		}
	}
	for _, k := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[k]; !ok {
			return clip("." + k), "is new"
		}
	}
	return "", ""
}

func differArrays(a, b []any) (at, how string) {
	if len(a) != len(b) {
		return "", fmt.Sprintf("%d and %d elements", len(a), len(b))
	}
	for i := range a {
		if at, how := differ(a[i], b[i]); how != "" {
			return clip(fmt.Sprintf("[%d]%s", i, at)), how
		}
	}
	return "", ""
}

// judgeValues compares two values at a place.
func judgeValues(place string, a, b any) (verdict, string) {
	if at, how := differ(a, b); how != "" {
		return different, strings.TrimPrefix(place+at+": "+how, ".")
	}
	return same, ""
}

// equalNumbers compares integers exactly, and others as floats.
func equalNumbers(a, b json.Number) bool {
	if a == b {
		return true
	}
	intA, errA := a.Int64()
	intB, errB := b.Int64()
	if errA == nil && errB == nil {
		return intA == intB
	}
	floatA, errA := a.Float64()
	floatB, errB := b.Float64()
	return errA == nil && errB == nil && floatA == floatB
}

// show formats a value, without the contents of objects and arrays.
func show(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		return fmt.Sprintf("%q", clip(v))
	}
	return fmt.Sprint(v)
}
