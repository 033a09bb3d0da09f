package importer

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// harFile makes a HAR of entries: each is a request's fields, or an entry as it is.
func harFile(entries ...string) []byte {
	for i, e := range entries {
		if strings.HasPrefix(e, `"`) {
			entries[i] = `{"startedDateTime":"2026-03-01T10:00:00Z","request":{"method":"POST","url":"http://h/` + fmt.Sprint(i+1) + `",` + e + `},"response":{"status":200}}`
		}
	}
	return []byte("{\"log\":{\"creator\":{\"name\":\"x\"},\"entries\":[\n" + strings.Join(entries, ",\n") + "\n]}}")
}

func TestMoment(t *testing.T) {
	want := time.Date(2026, 3, 1, 9, 30, 0, 250e6, time.UTC)
	for _, s := range []string{
		"2026-03-01T09:30:00.250Z", "2026-03-01T10:30:00.25+01:00", "2026-03-01T10:30:00,250+0100", "2026-03-01T10:30:00.250+01", "2026-03-01 10:30:00.250 +0100",
		"2026-03-01t09:30:00.250z", "20260301T093000.250Z", "1772357400250", "1772357400.25", "2026-03-01T09:30:00.250",
		"2026-03-01 09:30:00.250 UTC", "2026-03-01T09:30:00.2500000Z",
	} {
		if at, _, ok := moment(s); !ok || !at.Equal(want) {
			t.Errorf("%s is %v, %v", s, at, ok)
		}
	}
	for _, s := range []string{"Sun, 01 Mar 2026 09:30:00 GMT", "Sun Mar 01 2026 10:30:00 GMT+0100 (Central European Standard Time)", "2026-03-01T09:30Z"} {
		if at, zoned, ok := moment(s); !ok || !zoned || !at.Equal(want.Truncate(time.Second)) {
			t.Errorf("%s is %v, %v", s, at, ok)
		}
	}
	for _, s := range []string{"", "yesterday", "12", "NaN", "2026-13-01T00:00:00Z", "{}"} {
		if at, _, ok := moment(s); ok {
			t.Errorf("%s is %v", s, at)
		}
	}
}

// TestOrder: a time without a zone has that of the others, and one that cannot be read affects
// only the order and the pause of its own entry.
func TestOrder(t *testing.T) {
	at := func(when, path string) string {
		return `{"startedDateTime":` + when + `,"time":"10 ms","request":{"method":"GET","url":"http://h/` + path + `"},"response":{"status":"200"}}`
	}
	load, err := readHAR(harFile(at(`"soon"`, "a"), at(`"2026-03-01T08:00:02"`, "c"), at(`"2026-03-01T08:00:01.000-0500"`, "b"), at(`"later"`, "b2"), at(`null`, "b3"), at(`1772370005000`, "d")), noFiles)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range load.Requests {
		got += fmt.Sprint(r.URL[9:], " ", r.Flow.Think, "; ")
	}
	if want := "b 0s; b2 0s; b3 0s; a 0s; c 0s; d 2.99s; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if want := "[the time of entry 1, 4 cannot be read: the order of the file holds, and there is no pause]"; fmt.Sprint(load.Notes) != want {
		t.Errorf("notes %v", load.Notes)
	}
}

// TestOneEntry: an entry that cannot be read is left out alone, and is named with its line.
func TestOneEntry(t *testing.T) {
	load, err := readHAR(harFile(`"headers":[{"name":"X-N","value":7},5,{"name":"X-B","value":true}],"bodySize":"0"`, `7`, `{"request":[]}`, `{"request":{"method":"GET"}}`,
		`"headers":{"X-Map":"v"},"postData":"text alone","bodySize":null`, `{"request":{"method":"GET","url":"http://h/x","headers":[]},"response":["odd"],"time":{}}`,
		`"postData":7`, `{"request":{"method":"GET","url":"http://h/nan"},"time":NaN}`, `{"request":{"method":oops}}`, `"cookies":[{"name":"c","value":"1"}],"queryString":[{"name":"q","value":"a b&"},{"name":"e","value":"x%20y"}]`), noFiles)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%v", load.Left)
	for _, want := range []string{"{3 entry 2: ", "{4 entry 3: ", "{5 entry 4: a request it has no method or no URL}", "{8 entry 7: ", "{10 entry 9: "} {
		if !strings.Contains(got, want) {
			t.Errorf("left %s, want %s", got, want)
		}
	}
	got = ""
	for _, r := range load.Requests {
		got += fmt.Sprintln(r.Method, r.URL, r.Header, r.Body)
	}
	want := `POST http://h/1 [{X-N 7} {X-B true}] 
POST http://h/5 [{X-Map v}] text alone
GET http://h/x [] 
GET http://h/nan [] 
POST http://h/10?q=a+b%26&e=x%20y [{Cookie c=1}] 
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	cut := harFile(`"headers":[]`, `"headers":[]`)
	load, err = readHAR(cut[:len(cut)-40], noFiles)
	if err != nil || len(load.Requests) != 1 || !strings.HasPrefix(fmt.Sprint(load.Left), "[{3 entry 2 and what follows the file ends within it") {
		t.Errorf("of a file that was cut: %v, %+v", err, load)
	}
	for _, wrong := range []string{"", "[]", "{", `{"log":[]}`, `{"log":{"entries":{}}}`, `{"log":{"entries":[]}}`, `{"log":nope}`, "PK\x03\x04"} {
		if load, err := readHAR([]byte(wrong), noFiles); err == nil {
			t.Errorf("%s is %+v", wrong, load)
		}
	}
}

func TestHARBodies(t *testing.T) {
	folder := t.TempDir()
	inside := filepath.Join(folder, "archive")
	for name, text := range map[string]string{"archive/kept.txt": "kept", "secret.txt": "secret"} {
		if err := errors.Join(os.MkdirAll(inside, 0o755), os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret.txt", filepath.Join(inside, "link.txt")); err != nil {
		t.Log("no links here:", err)
	}
	const (
		json = `"headers":[{"name":"Content-Type","value":"application/json"}]`
		long = `"headers":[{"name":"content-length","value":"30"}]`
		form = `"postData":{"mimeType":"application/x-www-form-urlencoded","text":"",`
	)
	for request, want := range map[string]string{
		`"postData":{"mimeType":"text/plain","_file":"kept.txt","params":[]},"bodySize":-1`:     "kept",
		`"postData":{"_file":"../secret.txt"}`:                                                  "! in another file, which cannot be read",
		`"postData":{"_file":"` + filepath.Join(folder, "secret.txt") + `"}`:                    "! in another file, which cannot be read",
		`"postData":{"_file":"link.txt"}`:                                                       "! in another file, which cannot be read",
		`"postData":{"_file":"absent.txt"}`:                                                     "! in another file, which cannot be read",
		`"postData":{"_file":"."}`:                                                              "! not a regular file",
		`"postData":{"text":"aGFs\nbG8_","encoding":"base64"}`:                                  "hallo?",
		`"postData":{"text":"a!","encoding":"base64"}`:                                          "! says that it is base64, and is not",
		`"postData":{"text":"x","encoding":"rot13"}`:                                            "! encoded as \"rot13\"",
		`"postData":{"text":"` + "\ufffd" + `"}`:                                                "! U+FFFD",
		`"postData":{"text":{"a": [1]}}`:                                                        `{"a": [1]}`,
		`"postData":{"text":"cut"},` + long:                                                     "! kept 3 of its 30 bytes",
		`"postData":{"text":"cut"},"bodySize":31`:                                               "! kept 3 of its 31 bytes",
		`"postData":{"mimeType":"text/plain","text":"AP8B","encoding":"base64"}`:                "! its body is binary",
		`"postData":{"mimeType":"text/csv; charset=Windows-1252","text":"\u00fc"},"bodySize":1`: "! sent in windows-1252",
		`"postData":{"mimeType":"text/csv; charset=utf-16le","text":"ab"},"bodySize":4`:         "! sent in utf-16le",
		`"postData":{"mimeType":"text/csv; charset=ascii","text":"ab"}`:                         "ab",
		`"postData":{"mimeType":"text/csv; charset=latin1","text":"\u00fc"},"bodySize":2`:       "ü",
		`"bodySize":40`: "! kept no body, and it had 40 bytes",
		`"postData":{"mimeType":"text/plain","text":""},` + long:                   "! kept no body, and it had 30 bytes",
		json + `,"bodySize":-1`:                                                    "! seems to have had a body",
		`"headers":[{"name":"Transfer-Encoding","value":"chunked"}]`:               "! seems to have had a body",
		json + `,"bodySize":0`:                                                     "",
		`"headers":[]`:                                                             "",
		form + `"params":[{"name":"a","value":"1 2"},{"name":"b","value":"ü&"}]}`:  "a=1+2&b=%C3%BC%26",
		form + `"params":[{"name":"a","value":"x%20y"},{"name":"b","value":"%"}]}`: "a=x%20y&b=%25",
		form + `"params":[{"name":"a","value":"50%+"}]},"bodySize":10`:             "a=50%25%2B",
		form + `"params":[{"name":"a","value":"b+c"}]},"bodySize":7`:               "a=b%2Bc",
		form + `"params":[{"name":"f","fileName":"x.png"}]}`:                       "! the name of an uploaded file",
		`"postData":{"mimeType":"multipart/form-data; boundary=bb","params":[{"name":"n","value":"v"},{"name":"f","fileName":"a\"b","contentType":"text/css","value":"c"}]}`: "--bb\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nv\r\n" +
			"--bb\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a%22b\"\r\nContent-Type: text/css\r\n\r\nc\r\n--bb--\r\n",
		`"postData":{"mimeType":"multipart/form-data; boundary=bb","params":[{"name":"f","fileName":"a.png"}]}`: "! only the name of a part",
	} {
		load, err := readHAR(harFile(request, `"headers":[]`), filesInside(inside))
		if err != nil {
			t.Fatal(request, err)
		}
		if why, left := strings.CutPrefix(want, "! "); left {
			if len(load.Requests) != 1 || len(load.Left) != 1 || !strings.Contains(load.Left[0].Why, why) || load.Left[0].Line != 2 {
				t.Errorf("%s: %+v, want %s", request, load, why)
			}
		} else if len(load.Requests) != 2 || load.Requests[0].Body != want {
			t.Errorf("%s: %+v, want %q", request, load, want)
		}
	}
}

// TestZip reads what Playwright writes as har.zip: the archive, and a file for each body.
func TestZip(t *testing.T) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range map[string]string{"har.har": string(harFile(`"postData":{"mimeType":"text/plain","_file":"ab12.txt"}`, `"postData":{"_file":"../x"}`)), "ab12.txt": "from the zip"} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	load, err := readHAR(out.Bytes(), noFiles)
	if err != nil || len(load.Requests) != 1 || load.Requests[0].Body != "from the zip" || len(load.Left) != 1 {
		t.Errorf("%v, %+v", err, load)
	}
}
