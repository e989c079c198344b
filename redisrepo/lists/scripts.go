package lists

import (
	"embed"

	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	listingScript = wire.Script(luaFiles, "listing.lua")
	gatherScript  = wire.Script(luaFiles, "gather.lua")
	followScript  = wire.Script(luaFiles, "follow.lua")
)
