// This file defines sim worker, and lets the workers of a queue compute the cells of
// sim sweep.

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"sim/internal/text"
	"sim/scenarios/queue"
	"sim/scenarios/result"
	"sim/scenarios/study"
)

// queueVersion returns the version that the publisher and the workers of a queue must share.
func queueVersion() string { return fmt.Sprintf("%s-model%d", result.Version, result.Model) }

// queueRunner returns a study.Runner whose cells are computed by the workers of a queue. It
// checks the flags of the queue first. plan has the cells.
func (c *command) queueRunner(plan *study.Plan, flags sweepFlags) (study.Runner, error) {
	// Check the address, and find the token that workers need. given is the token in --listen.
	embedded := flags.queue == queue.EmbeddedURL
	if embedded && embedServer == nil {
		return nil, usageError(queue.ErrNoServer.Error())
	}
	given := ""
	if flags.listen != "" {
		token, err := queue.CheckListen(flags.listen)
		if err != nil {
			return nil, usageError(err.Error())
		}
		given = token
	}
	if embedded && flags.tokenFile != "" && flags.listen == "" {
		return nil, usagef("flag --token-file requires --listen: without it, no other machine can reach this queue")
	}
	token, err := c.queueToken(flags.queue, flags.creds, flags.tokenFile, given)
	if err != nil {
		return nil, err
	}
	// A queue without a token is open to all processes that reach it.
	if flags.listen != "" && given == "" && token == "" {
		c.logf("any process that reaches %s can take cells and return arbitrary results; require a token with --listen TOKEN@%[1]s, --token-file or %s", flags.listen, tokenVariable)
	}

	// Each cell is one item of the queue.
	return func(ctx context.Context, p *study.Plan, todo []int, done func(int, *study.Record) error) error {
		// cell maps the key of an item to the index of its cell.
		cell := make(map[string]int, len(todo))
		items := make([]queue.Item, len(todo))
		for n, i := range todo {
			key := p.Sweep.Cells[i].Key
			cell[key] = i
			items[n] = queue.Item{Key: key, Payload: func() ([]byte, error) { return p.Task(i) }}
		}
		// Publish the items and record their results.
		o := queue.Options{
			Peer: queue.Peer{URL: flags.queue, Version: queueVersion(), Credentials: flags.creds, Token: token, Log: c.logf},
			Name: p.Sweep.Name + "-" + p.Sweep.Digest[:10], Listen: flags.listen,
		}
		if embedded {
			o.Workers, o.Run, o.Embed = flags.workers, study.RunTask, embedServer
		}
		return queue.Publish(ctx, o, items, func(r queue.Result) error {
			if r.Failed != "" {
				return done(cell[r.Key], &study.Record{Key: r.Key, Failed: r.Failed, InvalidInput: r.Permanent})
			}
			// Results come from other machines and are verified.
			record, err := study.ReadRecord(r.Data)
			if err == nil && record.Key != r.Key {
				err = fmt.Errorf("the queue returned the result of another cell for %s", r.Key)
			}
			if err != nil {
				record = &study.Record{Key: r.Key, Failed: err.Error()}
			}
			return done(cell[r.Key], record)
		})
	}, nil
}

// tokenVariable is the environment variable with the token of a queue. A token on the command
// line would be visible in the list of processes.
const tokenVariable = "SIM_TOKEN"

// queueToken checks the address and the credentials of a queue and returns its token: from the
// file, or else from the environment, or "" without one. given is the token in the flag
// --listen, or "". If an address or a flag already identifies this process, the environment is
// not read.
func (c *command) queueToken(address, creds, file, given string) (string, error) {
	// An address may contain a user or a token. given then stands for it, whatever it is.
	if address != queue.EmbeddedURL {
		if err := queue.CheckURL(address); err != nil {
			return "", usageError(err.Error())
		}
		if strings.Contains(address, "@") {
			given = address
		}
	}
	// Credentials files are for external servers.
	if creds != "" {
		if address == queue.EmbeddedURL {
			return "", usagef("flag --creds is for an external server; an embedded queue uses a token")
		}
		if err := queue.CheckCredentials(creds); err != nil {
			return "", usageError(err.Error())
		}
		given = creds
	}
	var token string
	var err error
	// The token comes from the file, or else from the environment.
	switch {
	case file != "" && given != "":
		return "", usagef("flag --token-file excludes a token or user in the address and --creds; use one of them")
	case file != "":
		token, err = queue.ReadToken(file)
	case given == "":
		if token = c.getenv(tokenVariable); token != "" {
			if err = queue.CheckToken(token); err != nil {
				err = fmt.Errorf("%s: %w", tokenVariable, err)
			}
		}
	}
	if err != nil {
		return "", usageError(err.Error())
	}
	return token, nil
}

// workerCommand returns the definition of sim worker.
func (c *command) workerCommand() *cli.Command {
	return &cli.Command{
		Name:      "worker",
		Usage:     "compute the cells of sweeps from a queue until interrupted",
		ArgsUsage: "URL",
		Description: describe("URL is the address of a NATS server with JetStream, such as nats://host:4222. The worker computes the cells of all\n"+
			"sweeps of the same sim version. A cell leaves the queue when its result is stored, so a killed worker loses nothing.",
			example{"sim worker nats://host:4222 --idle 10m", "on each machine, until the queue is idle for 10 minutes"}),
		Flags: append(budgetFlags(),
			&cli.IntFlag{Name: "j", Usage: "compute `N` cells at the same time", DefaultText: "the number of processors"},
			stringFlag("creds", "read NATS credentials from `FILE`", noDefault),
			stringFlag("token-file", "read the server's token from `FILE`", "$"+tokenVariable),
			stringFlag("idle", "end after an idle `TIME` such as 10m", "never"),
		),
		Action: func(cc *cli.Context) error {
			if cc.NArg() != 1 {
				return usagef("sim worker needs the URL of a queue, such as nats://host:4222")
			}
			if err := setBudget(cc); err != nil {
				return err
			}
			// Read the address, the token and the idle time.
			o := queue.WorkerOptions{Peer: queue.Peer{
				URL: cc.Args().First(), Version: queueVersion(), Credentials: cc.String("creds"), Workers: workers(cc), Log: c.logf,
			}}
			if o.URL == queue.EmbeddedURL {
				return usagef("sim worker needs the address of a server, such as nats://HOST:4222; embedded is for sim sweep")
			}
			var err error
			const noTokenGiven = "" // queueToken finds a token in the address itself
			if o.Token, err = c.queueToken(o.URL, o.Credentials, cc.String("token-file"), noTokenGiven); err != nil {
				return err
			}
			if text := cc.String("idle"); cc.IsSet("idle") {
				d, err := time.ParseDuration(text)
				if err != nil || d <= 0 {
					return usagef("flag --idle needs a time such as 90s or 10m, not %q", text)
				}
				o.Idle = d
			}
			return c.runWorker(cc.Context, o)
		},
	}
}

// runWorker computes cells until it is interrupted, which is not an error.
func (c *command) runWorker(ctx context.Context, o queue.WorkerOptions) error {
	var computed atomic.Int64
	c.cleanup.requireWait()
	// Count the computed cells for the final message.
	begun := c.now()
	err := queue.Work(ctx, o, func(ctx context.Context, task []byte) ([]byte, error) {
		data, err := study.RunTask(ctx, task)
		if err == nil {
			computed.Add(1)
		}
		return data, err
	})
	c.logf("%s computed in %s", text.Plural(int(computed.Load()), "cell"), c.now().Sub(begun).Round(time.Second))
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// requireWait makes an interrupted process wait for the command, which returns its claimed
// cells to the queue, or stores its finished rows.
func (l *cleanupList) requireWait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waitForEnd = true
}
