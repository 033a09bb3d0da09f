package notify

import "context"

// Close takes no more notices, delivers what is pending until ctx ends, and ends the workers. It returns
// how many notices were left, per subscription: they are lost.
func (d *Dispatcher) Close(ctx context.Context) (left int) {
	d.mu.Lock()
	d.draining = true
	d.mu.Unlock()
	for waiting := true; waiting && d.reserved.Load() > 0; {
		select {
		case <-d.idle:
		case <-ctx.Done():
			waiting = false
		}
	}
	d.cancel()
	d.lanes.close()
	subs := d.subscriptions()
	for _, sub := range subs {
		sub.stopTimers()
	}
	d.workers.Wait()
	d.client.CloseIdleConnections()
	for _, sub := range subs {
		sub.mu.Lock()
		left += sub.pending()
		sub.mu.Unlock()
	}
	return left
}
