package chain

import "time"

// A call of the transcripts spends all the gas of a call: seconds under the race detector on a busy machine, which is
// no fault of the answer.
func init() { executions.Timeout = time.Minute }
