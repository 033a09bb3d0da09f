// Package dispatch is who is owed what, and getting it there. Each subscription is a subscriber,
// which alone changes its state. Around it:
//
//   - A Store opens the two logs: the notices, each under its number, and the journal of what
//     became of them (services/notify/journal). It knows how far the notices are routed, and turns
//     an error of a log into an answer and a report.
//   - A Table knows the subscriptions: which there are, what each wants, and which of them a notice
//     goes to. It makes, changes and deletes them, durably before it says so.
//   - An Acceptor takes notices in: it knows ids that were accepted before (services/notify/dedup),
//     refuses what is too much, makes the others durable, and then hands each to the subscriptions
//     that want it, in the order of the numbers. A Stream shows the newest to clients that follow
//     (services/notify/push).
//   - A Deliverer sends what subscriptions have in memory: lanes (what one subscription has not got
//     of one key, in order), a limiter for each receiver, the run queue, and the workers. At most
//     one webhook is in flight for each lane, so notices of one key arrive in order, and a notice
//     that fails holds up its own key only. Each outcome goes into the journal.
//   - A Reader leaves in the log what does not fit into memory, and reads it when there is room. A
//     Recovery takes up at a start what the last process owed. A Maintainer gives up what was kept
//     too long, and writes checkpoints, after which the logs are trimmed.
//
// It is not for the form of requests and answers (services/notify/api), for the form of webhooks
// (services/notify/webhook), nor for the logs' formats.
//
// A Deliverer owns its workers, a goroutine for timers, and one for each subscription that is being
// disabled; Stop waits for them. Reader.Run and Maintainer.Run each block until their context ends;
// the caller owns their goroutines. The logs have goroutines of their own, which Store.Close ends;
// that of the notices calls Acceptor.route.
//
// Locks are taken in this order: the table's, a subscriber's, the journal's.
package dispatch
