package trace

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
)

// readText reads a text schedule, one statement per line.
func (g *goalReader) readText(l *lineReader) error {
	last := int32(-1)            // rank that was started last
	inside := false              // its brace is open
	labels := map[string]int32{} // its operations, by label
	var starts [][2]int32        // its dependencies on starts; see endRank
	comment := false             // a block comment is open
	for l.scan() {
		// Values in comments apply to the statement of the line.
		g.readComments(l.Text, comment)

		f := l.fields(goalUncommented(l.Text, &comment))
		if len(f) == 0 {
			continue
		}

		// The first statement is num_ranks.
		if g.Ranks == 0 {
			if f[0] != "num_ranks" || len(f) != 2 {
				return invalid("num_ranks N", "begins with %.40q", l.Text)
			}
			n, err := parseInteger("num_ranks", f[1], 1, MaxRanks)
			if err != nil {
				return err
			}
			g.Ranks = int(n)
			g.Ops = make([][]Op, n)
			continue
		}

		for len(f) > 0 { // a closing brace may follow a statement
			switch {
			case !inside && f[0] == "rank" && len(f) >= 2:
				// A rank starts with its number and a brace, in one or two words.
				name, open := strings.CutSuffix(f[1], "{")
				if rest := f[2:]; !open && len(rest) > 0 && rest[0] == "{" {
					open, f = true, f[1:]
				}
				n, err := parseInteger("rank", name, int64(last+1), int64(g.Ranks-1))
				if err != nil {
					return err
				}
				if !open {
					return invalid("rank N {", "%.40q", l.Text)
				}
				last = int32(n)
				inside = true
				f = f[2:]

				// Allocate memory for the operations of the rank.
				body, _, _ := bytes.Cut(l.file.Data[l.offset:], []byte{'}'})
				g.beginRank(last, countLines(body, "calc", "send", "recv"))
				clear(labels)
				starts = starts[:0]

			// The end of a rank: its dependencies are complete.
			case inside && f[0] == "}":
				if err := g.endRank(starts); err != nil {
					return err
				}
				inside, f = false, f[1:]
			case !inside:
				return invalid("rank N {", "%.40q outside of a rank", f[0])
			default:
				// A statement, perhaps followed by a closing brace.
				closed := f[len(f)-1] == "}"
				if closed {
					f = f[:len(f)-1]
				}
				if err := g.readStatement(f, labels, &starts); err != nil {
					return err
				}
				if f = nil; closed {
					f = []string{"}"}
				}
			}
		}
	}

	switch {
	case g.Ranks == 0:
		return invalid("num_ranks N", "is empty")
	case inside:
		return invalid("}", "ends within rank %d", last)
	}

	return nil
}

// readComments reads the values that WriteGOAL stores in comments. Other comments are
// ignored. comment states that the line starts within a block comment.
func (g *goalReader) readComments(text string, comment bool) {
	if g.picoseconds, g.taskNumber, g.sendOrder = 0, 0, 0; comment {
		return
	}

	// Sscanf reads a value only from a comment that begins like the one of WriteGOAL.
	for _, words := range strings.Split(text, " //")[1:] {
		words = " //" + words
		_, _ = fmt.Sscanf(words, goalPicosecondsComment, &g.picoseconds)
		_, _ = fmt.Sscanf(words, goalTaskComment, &g.taskNumber)
		_, _ = fmt.Sscanf(words, goalSendOrderComment, &g.sendOrder)
	}

	// Other programs may write comments of this form; ignore impossible values.
	if g.taskNumber >= completionTag {
		g.taskNumber = 0
	}
	g.sendOrder = max(0, g.sendOrder)
}

// goalUncommented returns a line without comments. comment is the state of a block
// comment at the start of the line, and is updated.
func goalUncommented(text string, comment *bool) string {
	var out strings.Builder
	for text != "" {
		// Skip the rest of a block comment.
		if *comment {
			_, rest, ended := strings.Cut(text, "*/")
			text, *comment = rest, !ended
			continue
		}

		// Whichever comment begins first hides the other.
		a := strings.Index(text, "/*")
		b := strings.Index(text, "//")
		switch {
		case b >= 0 && (a < 0 || b < a):
			return out.String() + text[:b]
		case a < 0:
			return out.String() + text
		}

		out.WriteString(text[:a] + " ")
		text, *comment = text[a+2:], true
	}

	return out.String()
}

// readStatement reads an operation or a dependency.
func (g *goalReader) readStatement(f []string, labels map[string]int32, starts *[][2]int32) error {
	// A dependency between two labelled operations.
	if len(f) == 3 && (f[1] == "requires" || f[1] == "irequires") {
		a, known := labels[f[0]]
		b, ok := labels[f[2]]
		switch {
		case !known || !ok:
			return invalid("labels of the rank, above",
				"%.60q names an operation that is not there", strings.Join(f, " "))
		case f[1] == "requires":
			g.ops[a].After = append(g.ops[a].After, b)
		default:
			*starts = append(*starts, [2]int32{a, b})
		}

		return nil
	}

	// An operation with an optional label.
	label := ""
	if name, ok := strings.CutSuffix(f[0], ":"); ok {
		if label, f = name, f[1:]; len(f) == 0 {
			return invalid("calc, send or recv", "label %.40q has no operation", label)
		}
	}

	var tag, cpu, nic int64

	// readKeys reads optional keys in the given order.
	readKeys := func(rest []string, names ...string) error {
		next := 0
		for i := 0; i < len(rest); i += 2 {
			// Each key is searched after the previous one, which enforces the order.
			k := slices.Index(names[next:], rest[i])
			if k < 0 || i+1 == len(rest) {
				return invalid(strings.Join(names, ", ")+", in this order", "%.40q",
					strings.Join(rest[i:], " "))
			}
			next += k + 1
			minValue := int64(0)
			maxValue := int64(255)
			if rest[i] == "tag" {
				minValue = -1
				maxValue = math.MaxUint32
			}
			n, err := parseInteger(rest[i], rest[i+1], minValue, maxValue)
			if err != nil {
				return err
			}

			switch rest[i] {
			case "tag":
				tag = n
			case "cpu":
				cpu = n
			default:
				nic = n
			}
		}

		return nil
	}

	var o Op
	switch {
	case f[0] == "calc" && len(f) >= 2:
		// A computation: its time and an optional cpu.
		ns, err := parseInteger("a time in ns", f[1], 0, int64(maxComputeTime/engine.Nanosecond))
		if err != nil {
			return err
		}
		if err := readKeys(f[2:], "cpu"); err != nil {
			return err
		}

		// The comment of WriteGOAL may add a part of a nanosecond.
		o = Op{Name: "calc", Kind: Compute, Tag: g.taskNumber,
			Duration: engine.Time(ns)*engine.Nanosecond + min(max(0, g.picoseconds), engine.Nanosecond-1)}

	case (f[0] == "send" || f[0] == "recv") && len(f) >= 4:
		kind, word := Send, "to"
		if f[0] == "recv" {
			kind, word = Recv, "from"
		}

		// A message: size, peer and optional keys.
		size, ok := strings.CutSuffix(f[1], "b")
		if !ok || f[2] != word {
			return invalid(f[0]+" BYTESb "+word+" RANK", "%.60q", strings.Join(f, " "))
		}
		bytes, err := parseInteger("a size", size, 0, MaxMessageBytes)
		if err != nil {
			return err
		}
		peer, err := parseInteger("a rank", f[3], -1, int64(g.Ranks-1))
		if err != nil {
			return err
		}
		if err := readKeys(f[4:], "tag", "cpu", "nic"); err != nil {
			return err
		}

		// Only receives may have a wildcard as peer.
		if peer < 0 && kind == Send {
			return invalid("a rank", "a message is sent to any rank")
		}
		if o, err = g.message(kind, uint64(bytes), uint32(peer), uint32(tag), nic); err != nil {
			return err
		}
		if kind == Send {
			o.SendOrder = g.sendOrder
		}

	default:
		return invalid("calc, send, recv, or A requires B", "%.60q", strings.Join(f, " "))
	}

	// A label names an operation once in its rank.
	if label != "" {
		o.Name = label + ": " + o.Name
		if _, twice := labels[label]; twice {
			return invalid("labels that are used once", "label %.40q occurs twice", label)
		}
	}

	// Later statements refer to the operation by its label.
	id := g.add(o, cpu)
	if label != "" {
		labels[label] = id
	}
	return nil
}
