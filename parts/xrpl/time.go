package xrpl

import "time"

// epoch is when the ledger's clock begins, 2000-01-01T00:00:00Z, in seconds of Unix time.
const epoch = 946_684_800

// Time is when it was, or will be, so many seconds on the ledger's clock, as Header.Close counts them. It is in UTC.
func Time(seconds uint32) time.Time { return time.Unix(epoch+int64(seconds), 0).UTC() }
