package release

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// period is one in which both versions answered 1000 requests.
func period(p95 time.Duration, errors int) Period {
	return Period{
		Stable: Version{Requests: 1000, Errors: 10, P95: 10 * time.Millisecond},
		Second: Version{Requests: 1000, Errors: errors, P95: p95},
	}
}

// TestRules runs periods and checks the action after each.
func TestRules(t *testing.T) {
	const fast, slow = 120 * time.Millisecond, 120*time.Millisecond + 1
	good, late := period(fast, 60), period(slow, 0)
	few := period(slow, 99)
	few.Second.Requests = 99
	alone := func(errors int) Period { // when the second version answers all requests
		p := period(fast, errors)
		p.Stable = Version{Requests: 99, Errors: 99}
		return p
	}
	for _, test := range []struct {
		name    string
		periods []Period
		want    []Action
		share   float64 // at the end
	}{
		{"good ones promote", slices.Repeat([]Period{good}, 7),
			[]Action{Hold, Hold, Promote, Hold, Hold, Promote, Hold}, 1},
		{"at the end it is complete, once", slices.Repeat([]Period{good}, 12),
			[]Action{Hold, Hold, Promote, Hold, Hold, Promote, Hold, Hold, Complete, Hold, Hold, Hold}, 1},
		{"three slow ones in a row roll back", []Period{late, late, good, late, late, late},
			[]Action{Hold, Hold, Hold, Hold, Hold, Rollback}, 0},
		{"a slow one begins the count of good ones anew", []Period{good, good, late, good, good, good},
			[]Action{Hold, Hold, Hold, Hold, Hold, Promote}, 0.15},
		{"few requests decide nothing", []Period{late, few, few, late, few, late},
			[]Action{Hold, More, More, Hold, More, Rollback}, 0},
		{"errors above the stable version's roll back immediately", []Period{good, period(fast, 61)},
			[]Action{Hold, Rollback}, 0},
		{"also at the end", []Period{good, good, good, good, good, good, good, good, good, period(fast, 61)},
			[]Action{Hold, Hold, Promote, Hold, Hold, Promote, Hold, Hold, Complete, Rollback}, 0},
		{"what the stable version did is remembered", []Period{good, alone(60), alone(61)},
			[]Action{Hold, Hold, Rollback}, 0},
		{"unknown, it made none", []Period{alone(50), alone(51)},
			[]Action{Hold, Rollback}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := usual.begin(Canary, 0.01)
			rules := usual
			rules.GoodPeriods = 3
			for i, p := range test.periods {
				var a Action
				var reason string
				if s, a, reason = rules.judge(s, p); a != test.want[i] {
					t.Errorf("period %d: %s (%s), want %s", i, a, reason, test.want[i])
				}
				if reason == "" {
					t.Errorf("period %d: no reason", i)
				}
			}
			if s.Share() != test.share {
				t.Errorf("the share is %v at the end, want %v", s.Share(), test.share)
			}
		})
	}
}

// A canary starts with its first share and continues with the usual ones above; a shadow is
// promoted to a canary.
func TestStages(t *testing.T) {
	for _, test := range []struct {
		mode  Mode
		share float64
		want  []float64
	}{
		{Canary, 0.01, []float64{0.01, 0.15, 1}}, {Canary, 0.05, []float64{0.05, 0.15, 1}},
		{Canary, 0.15, []float64{0.15, 1}}, {Canary, 1, []float64{1}}, {Shadow, 0.5, []float64{0.5}},
	} {
		s := usual.begin(test.mode, test.share)
		if !slices.Equal(s.Stages, test.want) || s.Share() != test.share {
			t.Errorf("%s %v: %+v", test.mode, test.share, s)
		}
	}
	s, a := usual.promote(usual.begin(Shadow, 0.5))
	if a != Promote || s.Mode != Canary || s.Share() != 0.01 {
		t.Errorf("a shadow is promoted to %+v", s)
	}
	if s, a, _ := usual.judge(usual.begin(Shadow, 1), period(time.Hour, 1000)); a != Hold || s.Mode != Shadow {
		t.Errorf("a shadow is judged: %s", a)
	}
}

// TestByTheBook compares the machine with the written rules: it looks back over all periods of a
// stage instead of counting.
func TestByTheBook(t *testing.T) {
	rules := usual
	rules.GoodPeriods = 4
	anyPeriod := rapid.Custom(func(t *rapid.T) Period {
		arm := func(name string) Version {
			n := rapid.SampledFrom([]int{0, 99, 100, 5000}).Draw(t, name)
			return Version{
				Requests: n,
				Errors:   n * rapid.SampledFrom([]int{0, 0, 0, 0, 1, 3, 5, 8}).Draw(t, name+" errors") / 100,
				P95:      time.Duration(rapid.SampledFrom([]int{5, 5, 120, 121, 900}).Draw(t, name+" p95")) * time.Millisecond,
			}
		}
		return Period{arm("stable"), arm("second")}
	})
	rapid.Check(t, func(t *rapid.T) {
		s := usual.begin(Canary, 0.01)
		var stage []bool // periods of this stage that count; true means good
		baseline := 0.0
		for _, p := range rapid.SliceOfN(anyPeriod, 20, 60).Draw(t, "periods") {
			before := s
			want := Hold
			if p.Second.Requests < 100 {
				want = More
			} else {
				if p.Stable.Requests >= 100 {
					baseline = float64(p.Stable.Errors) / float64(p.Stable.Requests)
				}
				stage = append(stage, p.Second.P95 <= 120*time.Millisecond)
				n := len(stage)
				switch {
				case float64(p.Second.Errors)/float64(p.Second.Requests)-baseline > 0.05,
					n >= 3 && !slices.Contains(stage[n-3:], true):
					want = Rollback
				case n >= 4 && !slices.Contains(stage[n-4:], false) && !before.Completed:
					want = Promote
					if before.Share() == 1 {
						want = Complete
					}
				}
			}
			var got Action
			if s, got, _ = rules.judge(s, p); got != want {
				t.Fatalf("%+v after %v: %s, want %s", p, stage, got, want)
			}
			switch got {
			case Rollback:
				if s.Share() != 0 {
					t.Fatalf("rolled back to %v", s.Share())
				}
				return
			case Promote:
				stage = nil
				if s.Share() <= before.Share() {
					t.Fatalf("promoted from %v to %v", before.Share(), s.Share())
				}
			default:
				if s.Share() != before.Share() {
					t.Fatalf("%s changes the share from %v to %v", got, before.Share(), s.Share())
				}
			}
		}
	})
}
