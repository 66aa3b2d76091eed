package queue

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// collector reads the results of a batch as they are stored. It walks along the object store's stream, from each
// object's description to the next, and when there is none waits for a notification: the message with which a worker
// stores the next one. Notifications may be lost; every second it looks anyway.
type collector struct {
	l     *link
	place place
	out   chan *collected
	old   chan *collected // whose results were handed over
	woken chan struct{}   // holds one value after a notification
	list  chan struct{}   // holds one value if all is to be listed
	sub   *nats.Subscription

	stream jetstream.Stream // of collect's and remove's goroutines, which only read it
}

// collected is an object with results, or the end of a listing.
type collected struct {
	info    string // its description's subject
	nuid    string // of its chunks
	results []Result
	listed  bool
}

func newCollector(l *link, p place, s jetstream.Stream) (*collector, error) {
	c := &collector{
		l: l, place: p, stream: s,
		out: make(chan *collected, 2), old: make(chan *collected, 64), woken: make(chan struct{}, 1), list: make(chan struct{}, 1),
	}
	var err error
	c.sub, err = l.nc.Subscribe(p.infoSubjects(), func(*nats.Msg) {
		select {
		case c.woken <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.where, err)
	}
	return c, nil
}

func (c *collector) close() {
	if err := c.sub.Unsubscribe(); err != nil && c.l.nc.IsConnected() {
		c.l.log("%s: %v", c.l.where, err)
	}
}

// relist has everything listed that is there; a collected with listed set marks the end.
func (c *collector) relist() {
	select {
	case c.list <- struct{}{}:
	default:
	}
}

// collect reads until ctx ends.
func (c *collector) collect(ctx context.Context) error {
	const idle = time.Second
	trouble := trouble{l: c.l, doing: "reading results"}
	c.relist()
	at, listing := uint64(1), false
	wait := time.Millisecond // a notification may be a little early
	for ctx.Err() == nil {
		select {
		case <-c.list:
			at, listing = 1, true
		default:
		}
		m, err := c.message(ctx, at, c.place.infoSubjects())
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			trouble.over()
			if listing {
				listing = false
				c.send(ctx, &collected{listed: true})
			}
			timer := time.NewTimer(wait)
			select {
			case <-c.woken:
				wait = time.Millisecond
			case <-timer.C:
				wait = min(4*wait, idle)
			case <-c.list:
				at, listing = 1, true
			case <-ctx.Done():
			}
			timer.Stop()
			continue
		}
		if err == nil {
			var o *collected
			if o, err = c.read(ctx, m); err == nil {
				at, wait = m.Sequence+1, time.Millisecond
				trouble.over()
				c.send(ctx, o)
				continue
			}
		}
		if ctx.Err() != nil {
			break
		}
		if err := trouble.pause(ctx, err); err != nil {
			return err
		}
		if gone(err) { // a server that lost its store; items that are lost with it are published again
			if s, err := c.l.openResults(ctx, c.place); err == nil {
				at = min(at, s.CachedInfo().State.FirstSeq)
			}
		}
	}
	return nil
}

func (c *collector) send(ctx context.Context, o *collected) {
	select {
	case c.out <- o:
	case <-ctx.Done():
	}
}

// read returns the results of the object that m describes. An object that is no bundle of results is one without any.
func (c *collector) read(ctx context.Context, m *jetstream.RawStreamMsg) (*collected, error) {
	o := &collected{info: m.Subject}
	var info jetstream.ObjectInfo
	if err := json.Unmarshal(m.Data, &info); err != nil || info.NUID == "" || info.Deleted {
		return o, nil
	}
	o.nuid = info.NUID
	data, err := c.content(ctx, &info)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return o, nil // it was removed meanwhile
	case errors.Is(err, errDamaged):
	case errors.Is(err, errTooLarge):
		if info.Description != "" {
			o.results = []Result{*tooLarge(info.Description)}
			return o, nil
		}
	case err != nil:
		return nil, err
	default:
		if o.results, err = decodeBundle(data); err == nil {
			return o, nil
		}
	}
	c.l.log("%s: results in %s cannot be read: %v; their items are run again", c.l.where, line(info.Name), err)
	o.results = nil
	return o, nil
}

var (
	errDamaged  = errors.New("its digest is wrong")
	errTooLarge = fmt.Errorf("it takes more than %d bytes", mostBundle)
)

// message returns the first message from at on of a subject.
func (c *collector) message(ctx context.Context, at uint64, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := c.l.call(ctx)
	defer cancel()
	return c.stream.GetMsg(ctx, at, jetstream.WithGetMsgSubject(subject))
}

// content reads an object, chunk by chunk. (ObjectStore.Get makes a consumer for each object, which costs twice as
// much.)
func (c *collector) content(ctx context.Context, info *jetstream.ObjectInfo) ([]byte, error) {
	var data []byte
	at := uint64(1)
	for range info.Chunks {
		m, err := c.message(ctx, at, c.place.chunks(info.NUID))
		if err != nil {
			return nil, err
		}
		at = m.Sequence + 1
		if data == nil {
			data = m.Data // nearly always all
		} else {
			data = append(data, m.Data...)
		}
		if len(data) > mostBundle {
			return nil, errTooLarge
		}
	}
	if sum := sha256.Sum256(data); info.Digest != digestKind+base64.URLEncoding.EncodeToString(sum[:]) {
		return nil, errDamaged
	}
	return data, nil
}

// remove deletes objects whose results were handed over, the description first: chunks without one are in nobody's way.
// (ObjectStore.Delete would leave a marker for every object.) What stays goes with the batch.
func (c *collector) remove(ctx context.Context) error {
	for {
		select {
		case o := <-c.old:
			err := c.purge(ctx, o.info)
			if err == nil && o.nuid != "" {
				err = c.purge(ctx, c.place.chunks(o.nuid))
			}
			if err != nil && ctx.Err() == nil && !gone(err) {
				c.l.log("%s: results that were handed over cannot be removed: %v", c.l.where, err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *collector) purge(ctx context.Context, subject string) error {
	ctx, cancel := c.l.call(ctx)
	defer cancel()
	return c.stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
}
