package layout

import (
	"embed"

	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

// The scripts of upgrades, and those that a start calls.
var (
	adoptScript     = wire.Script(luaFiles, "adopt.lua")
	rerankScript    = wire.Script(luaFiles, "rerank.lua")
	OpenScript      = wire.Script(luaFiles, "open.lua")
	linkScript      = wire.Script(luaFiles, "link.lua")
	dropLinkScript  = wire.Script(luaFiles, "droplink.lua")
	buildScript     = wire.Script(luaFiles, "build.lua")
	layoutScript    = wire.Script(luaFiles, "layout.lua")
	fillCastsScript = wire.Script(luaFiles, "fillcasts.lua")
)
