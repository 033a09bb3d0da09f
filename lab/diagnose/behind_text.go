package diagnose

import (
	"fmt"
	"strings"

	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
)

// chainLink is a goroutine that others wait for, and that waits itself.
type chainLink struct {
	By         stacks.Site // its function
	At         stacks.Site // where it waits
	For        stacks.WaitKind
	Share      float64 // of the time
	PerRequest float64 // waits, for each request that waits; 0: not known
}

// alone is the smallest number of waits per request at which requests do not share a wait: a
// goroutine that serves two requests with one wait has half a wait per request.
const alone = 0.75

// behindText describes the chain of goroutines for which the requests wait.
func (v statement) behindText() string {
	text := ""
	for i, hop := range v.Behind {
		link := " for"
		if i == 0 {
			link = " It ends when"
		}
		text += fmt.Sprintf("%s %s", link, hop.By.Function)
		if i == 0 {
			text += " (" + hop.By.Location() + ") answers,"
		} else {
			text += ","
		}
		text += fmt.Sprintf(" which itself waits %s of the time", percent(hop.Share))
		if hop.At.Function != "" && hop.At.Function != hop.By.Function {
			text += " in " + hop.At.String()
		}
		if i+1 < len(v.Behind) {
			text += ","
		}
	}
	if text == "" {
		return ""
	}
	text += "."
	for _, hop := range v.Behind {
		if hop.PerRequest >= alone && v.Signals[rules.Clients] >= 2 {
			return text + fmt.Sprintf(" %s (%s) waits there %.2f times for each request: requests do not share that wait, as they would if it took up together those that have arrived meanwhile.",
				hop.By.Function, hop.By.Location(), hop.PerRequest)
		}
	}
	return text
}

// takenText describes what requests do with what they have taken from a pool.
func (v statement) takenText() string {
	if v.Taken == nil || v.Taken.Doing() == "" {
		return ""
	}
	return strings.Replace(v.Taken.Doing(), "; while it is held,", " While one is taken,", 1) + "."
}
