package diagnose

import "testing"

func TestUseText(t *testing.T) {
	for share, want := range map[float64]string{0: "idle, 0%", 0.29: "idle, 29%", 0.294: "idle, 29%", 0.296: "busy, 30%", 0.3: "busy, 30%", 0.896: "full, 90%", 0.89: "busy, 89%", 0.9: "full, 90%", 1.03: "full, 100%"} {
		if got := UseText(share); got != want {
			t.Errorf("%v: %q, want %q", share, got, want)
		}
	}
}
