package diagnose

import (
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
)

func TestBehindText(t *testing.T) {
	at := func(function string, line int) stacks.Site {
		return stacks.Site{Function: function, File: "/src/shop/log.go", Line: line}
	}
	v := statement{Bottleneck: rules.Wait, Kind: "select", Signals: rules.Signals{rules.Clients: 64}, Behind: []chainLink{
		{By: at("shop.apply", 10), At: at("shop.apply", 10), Share: 0.85, PerRequest: 0.1},
		{By: at("shop.drive", 20), At: at("shop.append", 25), Share: 0.8, PerRequest: 1.05},
	}}
	const follows = " It ends when shop.apply (log.go:10) answers, which itself waits 85% of the time, for shop.drive, which itself waits 80% of the time in shop.append (log.go:25)."
	const shares = " shop.drive (log.go:20) waits there 1.05 times for each request: requests do not share that wait"
	if text := v.Text(); !strings.Contains(text, follows+shares) {
		t.Error(text)
	}
	v.Behind[1].PerRequest = 0.5
	if text := v.Text(); !strings.HasSuffix(text, follows) {
		t.Error(text)
	}
	v.Behind[1].PerRequest, v.Signals[rules.Clients] = 1.05, 1 // nothing arrives together
	if text := v.Text(); !strings.HasSuffix(text, follows) {
		t.Error(text)
	}
}
