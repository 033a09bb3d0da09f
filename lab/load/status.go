package load

import "strconv"

// Status is how a request ended: an HTTP status (100 and above), or one of the kinds below.
type Status uint16

// Kinds of failure that have no protocol status.
const (
	Other      Status = iota // a driver's own error
	Timeout                  // no complete answer in time, counted from the intended send time
	Refused                  // the connection was refused
	Reset                    // the connection was reset
	Closed                   // the connection was closed before the answer was complete
	Malformed                // the answer breaks the protocol
	Connect                  // the connection could not be made for another reason (DNS, TLS, no route, no port left)
	Lost                     // the session that carried it was lost
	OK                       // success without a protocol status
	Unfinished               // still queued or in flight when the run ended; counted separately, never as an error
	statusEnd
)

var statusNames = [statusEnd]string{"other", "timeout", "refused", "reset", "closed", "malformed", "connect", "lost", "ok", "unfinished"}

// String returns the name used in results: "timeout", "200".
func (s Status) String() string {
	if s < statusEnd {
		return statusNames[s]
	}
	return strconv.Itoa(int(s))
}

// protocol reports whether s is a status that the target sent.
func (s Status) protocol() bool { return s >= 100 }

// Names of failures in results, in addition to the kinds above.
const (
	failedCheck  = "check"  // a well-formed answer that failed a check of its content
	failedStatus = "status" // an answer whose status the check does not accept
)

// ErrorKinds lists every key that Totals.Errors has, so that results always show the same ones.
func ErrorKinds() []string {
	return []string{"timeout", "refused", "reset", "closed", "malformed", "connect", "status", "check", "other"}
}

// rejected reports whether the target deliberately refused the request: 429 or 503.
func (s Status) rejected() bool { return s == 429 || s == 503 }
