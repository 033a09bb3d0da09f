package seconds

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, "0000000000000000000000000000007": 7 * time.Second,
		"9223372036": 9223372036 * time.Second, "9223372037": Longest, "18446744073709551616": Longest, strings.Repeat("4", 500): Longest,
		"": 0, "-5": 0, "+5": 0, "1.5": 0, "1e3": 0, "0x10": 0, "1_000": 0, "٣": 0, "soon": 0,
		now.Add(time.Minute).Format(http.TimeFormat):  time.Minute,
		"Wednesday, 06-May-26 07:09:09 GMT":           time.Minute,
		"Wed May  6 07:09:09 2026":                    time.Minute,
		now.Add(-time.Minute).Format(http.TimeFormat): 0,
		"Fri, 31 Dec 9999 23:59:59 GMT":               Longest,
	} {
		if got := RetryAfter(text, now); got != want {
			t.Errorf("%.40q: %v, want %v", text, got, want)
		}
	}
}

func TestDate(t *testing.T) {
	for text, want := range map[string]Date{
		"0": 0, "1790000000": 1790000000, "1790000000.75": 1790000000, "1.79e9": 1790000000, "-1.5": -2,
		"1e30": farAway, "-1e30": -farAway, "1e999": farAway, "9223372036854775808": farAway, strings.Repeat("9", 400): farAway,
	} {
		var got struct{ Exp *Date }
		if err := json.Unmarshal([]byte(`{"exp":`+text+`}`), &got); err != nil || *got.Exp != want {
			t.Errorf("%.40s: %v, %v, want %d", text, got.Exp, err, want)
		}
	}
	for _, text := range []string{`"1790000000"`, `true`, `{}`, `[1]`} {
		if json.Unmarshal([]byte(text), new(Date)) == nil {
			t.Errorf("%s was read", text)
		}
	}
}

func FuzzSeconds(f *testing.F) {
	f.Add("12")
	f.Add("Fri, 31 Dec 9999 23:59:59 GMT")
	f.Add("1e999")
	f.Fuzz(func(t *testing.T, text string) {
		if d := RetryAfter(text, time.Unix(0, 0)); d < 0 {
			t.Errorf("%v", d)
		}
		if d := Date(0); d.UnmarshalJSON([]byte(text)) == nil && (d < -farAway || d > farAway) {
			t.Errorf("%d", d)
		}
	})
}
