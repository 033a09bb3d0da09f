package xrpl

import "time"

// epoch is the start of the ledger's clock, 2000-01-01T00:00:00Z, in seconds of Unix time.
const epoch = 946_684_800

// Time converts seconds on the ledger's clock, as in Header.Close, to a time in UTC.
func Time(seconds uint32) time.Time { return time.Unix(epoch+int64(seconds), 0).UTC() }
