package message

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"dyno/parts/quicktest"
	"dyno/parts/refusal"
	"dyno/services/orders/message/messagetest"
	"dyno/services/orders/order"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var contentTypes = map[order.Kind]string{order.JSON: "application/json", order.Pacs008: "application/xml", order.FIX: "application/fix"}

func TestSamples(t *testing.T) {
	want := map[order.Kind]order.Submission{
		order.JSON:    {Symbol: "ACME", Side: order.Buy, Price: 101_25000000, Qty: 100_00000000},
		order.FIX:     {Symbol: "ACME", Side: order.Buy, Price: 101_25000000, Qty: 100_00000000},
		order.Pacs008: {Symbol: "EUR", Side: order.Pay, Qty: 1250_75000000},
	}
	for kind, want := range want {
		for _, account := range []string{"A1", ""} {
			body := messagetest.Sample(kind, `c-"<1>&\`, account)
			got, err := Parse(contentTypes[kind], body)
			if err != nil {
				t.Errorf("%s: %v", kind, err)
				continue
			}
			if len(body) < 1100 || len(body) > 1350 {
				t.Errorf("%s: %d bytes, want about 1.2 KB", kind, len(body))
			}
			if &got.Message[0] != &body[0] || len(got.Message) != len(body) {
				t.Errorf("%s: another message", kind)
			}
			want.Kind, want.ClientOrderID, want.Account = kind, `c-"<1>&\`, account
			clear(body) // strings share no memory with it
			if !equal(got, want) {
				t.Errorf("%s: %+v, want %+v", kind, got, want)
			}
		}
	}
}

// equal compares everything but the message.
func equal(a, b order.Submission) bool {
	return a.Account == b.Account && a.ClientOrderID == b.ClientOrderID && a.Symbol == b.Symbol && a.Side == b.Side &&
		a.Price == b.Price && a.Qty == b.Qty && a.Kind == b.Kind
}

// refused checks that a message is refused with a status, a field and a part of the text.
func refused(t *testing.T, contentType string, body []byte, status int, field, text string) {
	t.Helper()
	s, err := Parse(contentType, body)
	var e *refusal.Error
	if !errors.As(err, &e) {
		t.Errorf("%.300q is accepted: %+v %v", body, s, err)
		return
	}
	if e.Status != status || e.Field != field || !strings.Contains(e.Text, text) || field != "" && !strings.HasPrefix(e.Text, field+": ") {
		t.Errorf("%.200q:\n got %d %q %q\nwant %d %q %q", body, e.Status, e.Field, e.Text, status, field, text)
	}
	if len(e.Text) > 500 || len(e.Field) > 100 {
		t.Errorf("%d bytes of error: %q", len(e.Text), e.Text)
	}
	if !equal(s, order.Submission{}) || s.Message != nil {
		t.Errorf("refused, and yet %+v", s)
	}
}

func TestContentType(t *testing.T) {
	body := messagetest.Sample(order.JSON, "1", "A1")
	for _, contentType := range []string{
		"application/json", "Application/JSON", "application/json;charset=utf-8", `application/json; charset="UTF-8"`, " application/json ; Charset=utf-8 ;",
		"application/json; charset=ISO-8859-1", "application/json;version=2", "application/vnd.shop.order+json",
	} {
		if _, err := Parse(contentType, body); err != nil {
			t.Errorf("%q: %v", contentType, err)
		}
	}
	for contentType, text := range map[string]string{
		"":                                   "application/json, application/xml (pacs.008) or application/fix",
		"json":                               `"json"`,
		"text/plain":                         "text/plain",
		"application/xml;charset=latin1":     "send UTF-8",
		"application/json, application/json": "application/json, application/json",
		strings.Repeat("x", 4096):            "application/fix",
	} {
		refused(t, contentType, body, http.StatusUnsupportedMediaType, "", text)
	}
	for _, contentType := range []string{"text/xml; charset=utf-8", "Application/XML; charset=US-ASCII; version=8"} {
		if _, err := Parse(contentType, messagetest.Sample(order.Pacs008, "1", "A1")); err != nil {
			t.Errorf("%q: %v", contentType, err)
		}
	}
}

func TestSize(t *testing.T) {
	for kind, contentType := range contentTypes {
		refused(t, contentType, nil, http.StatusBadRequest, "", "empty")
		refused(t, contentType, make([]byte, MaxSize+1), http.StatusRequestEntityTooLarge, "", "65536")
		if kind == order.FIX {
			continue // its values are shorter
		}
		long := messagetest.Sample(kind, "1", "A1")
		long = append(long, bytes.Repeat([]byte(" "), MaxSize-len(long))...)
		if _, err := Parse(contentType, long); err != nil {
			t.Errorf("%s of %d bytes: %v", kind, len(long), err)
		}
	}
}

// Concurrent calls do not interfere.
func TestParallel(t *testing.T) {
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 200 {
				id := fmt.Sprintf("%d-%d", worker, i)
				for kind, contentType := range contentTypes {
					if s, err := Parse(contentType, messagetest.Sample(kind, id, "A-"+id)); err != nil || s.ClientOrderID != id || s.Account != "A-"+id {
						t.Errorf("%s %s: %+v %v", kind, id, s, err)
					}
				}
			}
		})
	}
	all.Wait()
}

// Allocations per message. Most are encoding/xml's, which allocates a value for each token.
func TestAllocations(t *testing.T) {
	for kind, most := range map[order.Kind]float64{order.JSON: 8, order.Pacs008: 354, order.FIX: 10} {
		body, contentType := messagetest.Sample(kind, "order-1", "A1"), contentTypes[kind]
		got := testing.AllocsPerRun(100, func() {
			if _, err := Parse(contentType, body); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %v", kind, got)
		if got > most && (!quicktest.Race || kind != order.JSON) {
			t.Errorf("%s: %v allocations, at most %v are expected", kind, got, most)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for kind, contentType := range contentTypes {
		body := messagetest.Sample(kind, "order-1", "A1")
		b.Run(kind.String(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := Parse(contentType, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
