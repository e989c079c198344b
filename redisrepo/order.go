package redisrepo

// Order is the key that a listing is sorted by. The zero value is invalid.
type Order int

// The orders. Articles with equal keys are sorted by the bytes of their members, as in Redis.
const (
	ByScore Order = iota + 1
	ByTime
	bySize // of groups, in the index of their sizes
)

func (o Order) prefix() string {
	switch o {
	case ByTime:
		return "time:"
	case bySize:
		return "sizes:"
	default:
		return "score:"
	}
}

// Direction is the direction of an order. The zero value is invalid.
type Direction int

// The directions.
const (
	Descending Direction = iota + 1
	Ascending
)
