// This file opens the streams and consumers of the queue, and retries requests that
// fail.

package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// retention is the time for which unused items and results stay on a server. An interrupted
// batch can be continued within a week.
const retention = 7 * 24 * time.Hour

// openWork returns the stream of all items and the consumer of the link's version. It
// creates them if they are missing.
func (l *queueLink) openWork(ctx context.Context) (jetstream.Stream, jetstream.Consumer, error) {
	ctx, cancel := l.requestContext(ctx)
	defer cancel()
	// Open or create the stream of items. Its name may belong to a stream of another program.
	s, err := l.js.Stream(ctx, workStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = l.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: workStream, Description: "items of work of sim", Subjects: []string{workSubject + ".*.*.*"},
			Retention: jetstream.WorkQueuePolicy, MaxAge: retention, AllowDirect: true,
			Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
		})

		// Another process created it first.
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			s, err = l.js.Stream(ctx, workStream)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: the stream %s cannot be opened: %w", l.address, workStream, err)
	}
	if c := s.CachedInfo().Config; c.Retention != jetstream.WorkQueuePolicy || !c.DiscardNewPerSubject || c.MaxMsgsPerSubject != 1 {
		return nil, nil, fmt.Errorf("%s: the stream %s is no work queue of sim's; remove it", l.address, workStream)
	}
	// Open or create the consumer. It delivers an item as often as needed, and any number of
	// items at a time. One request per process waits for items.
	const unlimited, maxRequests = -1, 16384
	name := consumerName(subjectToken(l.Version))
	c, err := s.Consumer(ctx, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		c, err = s.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: name, FilterSubject: workSubject + "." + subjectToken(l.Version) + ".*.*", Metadata: map[string]string{"version": l.Version},
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: l.AckWait, MaxDeliver: unlimited,
			MaxAckPending: unlimited, MaxWaiting: maxRequests, InactiveThreshold: retention,
		})
		if errors.Is(err, jetstream.ErrConsumerExists) {
			c, err = s.Consumer(ctx, name)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: the stream %s has no consumer for version %s: %w", l.address, workStream, l.Version, err)
	}
	return s, c, nil
}

// openResults returns the stream of a batch's results, which is created if it is missing.
func (l *queueLink) openResults(ctx context.Context, p batchAddress) (jetstream.Stream, error) {
	ctx, cancel := l.requestContext(ctx)
	defer cancel()
	s, err := l.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: p.streamName(), Description: "results of sim, not yet fetched", Subjects: []string{p.doneSubject(">")}, MaxAge: retention, AllowDirect: true,
	})

	// Created with another configuration.
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		s, err = l.js.Stream(ctx, p.streamName())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the stream %s cannot be opened: %w", l.address, p.streamName(), err)
	}
	return s, nil
}

// isMissing reports whether an error means that a stream, bucket or consumer does not
// exist and must be created again.
func isMissing(err error) bool {
	for _, target := range []error{
		jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDeleted,
		jetstream.ErrNoStreamResponse, nats.ErrNoResponders, jetstream.ErrJetStreamNotEnabled, // returned if no server answers
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// retryPolicy handles transient errors of the queue with exponential backoff. It logs a
// persistent error once, and gives up after the time allowed for reconnecting.
type retryPolicy struct {
	l            *queueLink    // the connection
	operation    string        // operation for messages, such as "storing results"
	failingSince time.Time     // first failure; zero after a success
	delay        time.Duration // wait before the next try
}

// reset records a success.
func (t *retryPolicy) reset() { t.failingSince, t.delay = time.Time{}, 0 }

// wait waits before the next try. A returned error is final. The delay is doubled from 10 ms
// to 2 s. The error is logged once, when the delay passes half a second.
func (t *retryPolicy) wait(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, nats.ErrConnectionClosed) {
		return t.l.lostError()
	}
	now := time.Now()
	switch {
	case t.failingSince.IsZero():
		t.failingSince, t.delay = now, 10*time.Millisecond
	case now.Sub(t.failingSince) > t.l.Reconnect && t.l.nc.IsConnected():
		return fmt.Errorf("%s: %s has failed for %v: %w", t.l.address, t.operation, t.l.Reconnect, err)
	case t.delay >= 500*time.Millisecond && t.delay < time.Second:
		t.l.Log("%s: %s fails: %v; trying again", t.l.address, t.operation, err)
	}
	if !sleep(ctx, t.delay) {
		return context.Cause(ctx)
	}
	t.delay = min(2*t.delay, 2*time.Second)
	return nil
}
