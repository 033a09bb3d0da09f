package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
)

// readJSON reads an order as JSON. Price and qty may be texts or numbers; both are read digit by
// digit.
func readJSON(body []byte) (m submission, err error) {
	var in struct {
		ClientOrderID string         `json:"client_order_id"`
		Account       *string        `json:"account"`
		Symbol        string         `json:"symbol"`
		Side          string         `json:"side"`
		OrderType     string         `json:"order_type"`
		Price         number         `json:"price"`
		Qty           number         `json:"qty"`
		TimeInForce   string         `json:"time_in_force"`
		Metadata      map[string]any `json:"metadata"` // kept with the message, for the audit
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err = d.Decode(&in)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return m, refuseField(wrong.Field, "give no %s for it", wrong.Value)
	}
	if err != nil {
		return m, refuse(http.StatusBadRequest, "the body cannot be read as an order in JSON: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return m, refuse(http.StatusBadRequest, "something follows the order; send one at a time")
	}
	m = submission{ClientOrderID: in.ClientOrderID, Symbol: in.Symbol}
	if in.Account != nil {
		if m.Account = *in.Account; m.Account == "" {
			return m, refuseField("account", "give one, or leave it out")
		}
	}
	if m.Side = side(numberOf(sides[:2], in.Side)); m.Side == 0 {
		return m, refuseField("side", "give BUY or SELL")
	}
	var ok bool
	if m.Qty, ok = parseDecimal(string(in.Qty)); !ok {
		return m, refuseField("qty", "give a number such as 100")
	}
	switch in.OrderType {
	case "", "LIMIT":
		if m.Price, ok = parseDecimal(string(in.Price)); !ok || m.Price == 0 {
			return m, refuseField("price", "give a number such as 101.25, or an order_type of MARKET and none")
		}
	case "MARKET":
		if in.Price != "" {
			return m, refuseField("price", "leave it out of an order at the market's price")
		}
	default:
		return m, refuseField("order_type", "give LIMIT or MARKET")
	}
	if !slices.Contains([]string{"", "DAY", "GTC", "IOC", "FOK"}, in.TimeInForce) {
		return m, refuseField("time_in_force", "give DAY, GTC, IOC or FOK")
	}
	return m, nil
}

// number is one as it is written, in quotes or not.
type number string

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, (*string)(n))
	}
	*n = number(text)
	return nil
}
