package message

import (
	"testing"

	"go.uber.org/goleak"

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
			body := Sample(kind, `c-"<1>&\`, account)
			got, err := Parse(contentTypes[kind], body)
			if err != nil {
				t.Errorf("%s: %v", kind, err)
				continue
			}
			if len(body) < 1100 || len(body) > 1400 {
				t.Errorf("%s: %d bytes, want about 1.2 KB", kind, len(body))
			}
			if &got.Message[0] != &body[0] || len(got.Message) != len(body) {
				t.Errorf("%s: another message", kind)
			}
			want.Kind, want.ClientOrderID, want.Account, got.Message = kind, `c-"<1>&\`, account, nil
			if !equal(got, want) {
				t.Errorf("%s: %+v, want %+v", kind, got, want)
			}
		}
	}
}

// equal compares all but the message.
func equal(a, b order.Submission) bool {
	return a.Account == b.Account && a.ClientOrderID == b.ClientOrderID && a.Symbol == b.Symbol && a.Side == b.Side &&
		a.Price == b.Price && a.Qty == b.Qty && a.Kind == b.Kind
}
